"""`manage.py tools`: what is trusted of each tool."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.errors import BadInput
from liyagent.core.files import parse_yaml
from liyagent.core.operator import operator_name
from liyagent.core.tables import visible
from liyagent.gateway.approve import approve_tool, find_tool
from liyagent.gateway.declare import read_contract
from liyagent.gateway.models import Tool
from liyagent.gateway.servers import set_contract

FIELDS = ("effect", "key", "reader", "undo", "timeout", "limit")


class Command(BaseCommand):
    """List tools, approve their descriptions, set their contracts."""

    help = "Tools: list | approve SERVER/TOOL | set SERVER/TOOL --effect read ..."

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="every tool and its contract")
        approve = verbs.add_parser("approve", help="approve its schema and description as read")
        approve.add_argument("tool", metavar="SERVER/TOOL")
        change = verbs.add_parser("set", help="change its contract; values are YAML")
        change.add_argument("tool", metavar="SERVER/TOOL")
        for name in FIELDS:
            change.add_argument(f"--{name}")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        verbs = {"list": self._list, "approve": self._approve, "set": self._set}
        verbs[options["verb"]](options)

    def _list(self, options: dict[str, Any]) -> None:
        for tool in Tool.objects.select_related("server"):
            key = tool.key_place if not tool.key_field else f"{tool.key_place}:{tool.key_field}"
            marks = [
                "" if tool.is_offered else "not offered",
                "" if tool.is_approved else "to approve",
            ]
            said = ", ".join(mark for mark in marks if mark)
            self.stdout.write(visible(f"{tool}\t{tool.effect}\tkey {key}\t{said}"))

    def _approve(self, options: dict[str, Any]) -> None:
        tool = find_tool(options["tool"])
        told = f"{tool}\n{tool.description}\n{json.dumps(tool.schema, indent=2)}"
        self.stdout.write(visible(told))
        approve_tool(tool, actor=operator_name())
        self.stdout.write(f"approved, fingerprint {tool.fingerprint[:12]}")

    def _set(self, options: dict[str, Any]) -> None:
        tool = find_tool(options["tool"])
        given = {name: _value(name, options[name]) for name in FIELDS if options[name] is not None}
        if not given:
            raise BadInput(f"nothing to set; it wants one of --{', --'.join(FIELDS)}")
        set_contract(tool, read_contract(given, str(tool)), actor=operator_name())
        self.stdout.write(f"{tool}: {', '.join(given)} set")


def _value(name: str, text: str) -> Any:
    try:
        return parse_yaml(text)
    except BadInput as error:
        raise BadInput(f"--{name} {error}") from error
