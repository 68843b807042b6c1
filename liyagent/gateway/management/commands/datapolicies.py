"""`manage.py datapolicies`: what may not leave in a call's arguments."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.errors import BadInput
from liyagent.core.files import parse_yaml, read_text
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned
from liyagent.gateway.data_policies import (
    MOST_POLICIES,
    load_data_policies,
    read_data_policies,
    remove_data_policy,
    set_enabled,
)
from liyagent.gateway.models import DataPolicy

HEADS = ("NAME", "KIND", "PATH", "TOOLS", "ACTION", "STATE")
WITH_FILE = {
    "load": "save every policy of a YAML file, all or none",
    "check": "read a YAML file and say what is wrong with it; nothing is saved",
}
WITH_NAME = {"enable": "switch it on", "disable": "switch it off", "remove": "remove it"}


class Command(BaseCommand):
    """Load, check, list and switch data policies."""

    help = "Data policies: list | load FILE | check FILE | enable NAME | disable NAME | remove NAME"

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="every data policy")
        for verb, told in WITH_FILE.items():
            verbs.add_parser(verb, help=told).add_argument("file", metavar="FILE")
        for verb, told in WITH_NAME.items():
            verbs.add_parser(verb, help=told).add_argument("name", metavar="NAME")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        verb = options["verb"]
        if verb == "list":
            self._list()
        elif verb in WITH_FILE:
            self._read(verb, options["file"])
        else:
            self._change(verb, options["name"])

    def _list(self) -> None:
        rows = [
            (it.name, it.kind, it.path, it.tools, it.action, "on" if it.is_enabled else "off")
            for it in DataPolicy.objects.order_by("name")[:MOST_POLICIES]
        ]
        self.stdout.write(aligned(HEADS, rows))

    def _read(self, verb: str, file: str) -> None:
        try:
            document = parse_yaml(read_text(file))
            if verb == "check":
                count = len(read_data_policies(document))
                self.stdout.write(f"{count} data policies, all can be used; nothing was saved")
                return
            saved = load_data_policies(document, actor=operator_name())
        except BadInput as error:
            raise BadInput(f"{file}: {error}") from error
        self.stdout.write(
            f"in force: {', '.join(it.name for it in saved if it.is_enabled) or 'none'}"
        )

    def _change(self, verb: str, name: str) -> None:
        if verb == "remove":
            remove_data_policy(name, actor=operator_name())
        else:
            set_enabled(name, is_enabled=verb == "enable", actor=operator_name())
        self.stdout.write(f"{name}: {verb}d")
