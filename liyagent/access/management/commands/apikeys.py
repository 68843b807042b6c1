"""Make, list and revoke API keys."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.access.keys import create_key, revoke_key
from liyagent.access.models import ApiKey
from liyagent.access.scopes import ALL
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned

MOST_LISTED = 1000
HEADS = ("PREFIX", "NAME", "USER", "SCOPES", "MADE BY", "EXPIRES", "REVOKED", "LAST USED")


class Command(BaseCommand):
    """`apikeys create NAME --user USER [--scope PERMISSION ...] [--days N] | list | revoke PREFIX`."""

    help = "Make, list and revoke API keys. A new key's secret is printed once."

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand an act."""
        acts = parser.add_subparsers(dest="act", required=True)
        create = acts.add_parser("create", help="make a key and print it, this once")
        create.add_argument("name")
        create.add_argument("--user", required=True, help="whose permissions the key has")
        create.add_argument(
            "--scope",
            action="append",
            metavar="PERMISSION",
            help="what it may use, such as runs.view_run; again for more; all of the user's if left out",
        )
        create.add_argument(
            "--days", type=int, help="how long it is good for; without end if left out"
        )
        acts.add_parser("list", help="list all keys")
        acts.add_parser("revoke", help="end a key at once").add_argument("prefix")

    def handle(self, *args: Any, **options: Any) -> None:
        """Carry the act out."""
        getattr(self, f"_{options['act']}")(options)

    def _create(self, options: dict[str, Any]) -> None:
        new = create_key(
            name=options["name"],
            username=options["user"],
            days=options["days"],
            scopes=options["scope"] or [ALL],
            actor=operator_name(),
        )
        self.stdout.write(new.token)

    def _revoke(self, options: dict[str, Any]) -> None:
        revoke_key(options["prefix"], actor=operator_name())
        self.stdout.write(f"{options['prefix']} is revoked")

    def _list(self, options: dict[str, Any]) -> None:
        rows = [
            (
                key.prefix,
                key.name,
                key.user.get_username(),
                ", ".join(map(str, key.scopes)),
                key.created_by,
                key.expires_at,
                key.revoked_at,
                key.last_used_at,
            )
            for key in ApiKey.objects.select_related("user")[:MOST_LISTED]
        ]
        self.stdout.write(aligned(HEADS, rows))
