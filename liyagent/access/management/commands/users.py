"""Make, list and switch users, so that nobody has to know Django."""

from __future__ import annotations

import getpass
import sys
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandParser

from liyagent.access.roles import ADMINISTRATOR, ROLES
from liyagent.access.users import NewPassword, create_user, set_password, switch_user
from liyagent.core.errors import BadInput
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned

MOST_LISTED = 1000


class Command(BaseCommand):
    """One subcommand a verb."""

    help = (
        "Users: create NAME --role ROLE | list | disable NAME | enable NAME | password NAME. "
        f"Roles: {'; '.join(f'{name}: {what}' for name, what in ROLES.items())}; "
        f"{ADMINISTRATOR}: may do all."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        create = verbs.add_parser("create", help="make a user who may log in to the console")
        create.add_argument("name")
        create.add_argument(
            "--role",
            required=True,
            help=f"{', '.join(ROLES)}, {ADMINISTRATOR}, or a group of yours",
        )
        password = verbs.add_parser("password", help="give a user another password")
        password.add_argument("name")
        for chosen in (create, password):
            chosen.add_argument(
                "--generate", action="store_true", help="make the password and print it, this once"
            )
        verbs.add_parser("list", help="every user with roles")
        verbs.add_parser("disable", help="end a user's sessions and keys").add_argument("name")
        verbs.add_parser("enable", help="let a user in again").add_argument("name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _create(self, options: dict[str, Any]) -> None:
        chosen = _chosen_password(options)
        made = create_user(
            options["name"], role=options["role"], password=chosen, actor=operator_name()
        )
        self.stdout.write(f"{made.user.username} is made, with the role {options['role']}")
        self._show(made, is_made=not chosen)

    def _password(self, options: dict[str, Any]) -> None:
        chosen = _chosen_password(options)
        made = set_password(options["name"], password=chosen, actor=operator_name())
        self.stdout.write(f"{made.user.username} has another password")
        self._show(made, is_made=not chosen)

    def _show(self, made: NewPassword, *, is_made: bool) -> None:
        if is_made:
            self.stdout.write(f"password: {made.password}")

    def _list(self, options: dict[str, Any]) -> None:
        users = User.objects.order_by("username").prefetch_related("groups")[:MOST_LISTED]
        rows = [
            (
                user.username,
                ADMINISTRATOR
                if user.is_superuser
                else ", ".join(it.name for it in user.groups.all()),
                "active" if user.is_active else "disabled",
                user.last_login,
            )
            for user in users
        ]
        self.stdout.write(aligned(("NAME", "ROLE", "STATE", "LAST LOGIN"), rows))

    def _disable(self, options: dict[str, Any]) -> None:
        switch_user(options["name"], is_active=False, actor=operator_name())
        self.stdout.write(f"{options['name']} is disabled")

    def _enable(self, options: dict[str, Any]) -> None:
        switch_user(options["name"], is_active=True, actor=operator_name())
        self.stdout.write(f"{options['name']} is enabled")


def _chosen_password(options: dict[str, Any]) -> str:
    """Ask twice where somebody can answer; empty for one to be made."""
    if options["generate"] or not sys.stdin.isatty():
        return ""
    first = getpass.getpass("Password (empty: one is made): ")
    if first and getpass.getpass("Again: ") != first:
        raise BadInput("the two passwords differ")
    return first
