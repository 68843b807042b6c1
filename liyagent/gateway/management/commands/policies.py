"""`manage.py policies`: the Cedar policy set in force."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.errors import BadInput
from liyagent.core.files import read_text
from liyagent.core.operator import operator_name
from liyagent.core.tables import visible
from liyagent.gateway.models import Policy
from liyagent.gateway.policies import parse_policies
from liyagent.gateway.policy_versions import load_policy


class Command(BaseCommand):
    """Load a policy set and show the one in force."""

    help = "Cedar policies: load FILE | show"

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        load = verbs.add_parser("load", help="check a file and put it into force")
        load.add_argument("file")
        load.add_argument("--name", help="by default the file's name")
        verbs.add_parser("show", help="the policies in force")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        if options["verb"] == "load":
            self._load(options["file"], options["name"])
        else:
            self._show()

    def _load(self, file: str, name: str | None) -> None:
        try:
            text = read_text(file)
            policy = load_policy(text, name=name or Path(file).stem, actor=operator_name())
        except BadInput as error:
            raise BadInput(f"{file}: {error}") from error
        self.stdout.write(f"{policy} is in force")

    def _show(self) -> None:
        policy = Policy.objects.filter(is_active=True).first()
        if policy is None:
            self.stdout.write(
                "none: every call is refused; `manage.py policies load FILE` adds one"
            )
            return
        fingerprint = parse_policies(policy.text).fingerprint
        self.stdout.write(visible(f"// {policy}, fingerprint {fingerprint}\n{policy.text}"))
