"""`manage.py tools`: what is trusted of each tool."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.errors import BadInput
from liyagent.core.files import parse_yaml
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, visible
from liyagent.gateway.approve import approve_tool, find_tool
from liyagent.gateway.contracts import contract_of
from liyagent.gateway.declare import read_contract
from liyagent.gateway.models import Tool
from liyagent.gateway.outcome import Effect
from liyagent.gateway.servers import set_contract

FIELDS = ("effect", "key", "reader", "undo", "permission", "timeout", "limit")
LIST_HEADS = ("TOOL", "EFFECT", "KEY", "IN DOUBT", "STATE")


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
        rows = [
            (tool, tool.effect, _key(tool), _in_doubt(tool), _state(tool))
            for tool in Tool.objects.select_related("server")
        ]
        self.stdout.write(aligned(LIST_HEADS, rows))

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
        changed = set_contract(tool, read_contract(given, str(tool)), actor=operator_name())
        told = ", ".join(
            f"{column} {_shown(old)} -> {_shown(new)}" for column, (old, new) in changed.items()
        )
        self.stdout.write(visible(f"{tool}: {told or 'nothing changed'}"))


def _key(tool: Tool) -> str:
    return f"{tool.key_place}:{tool.key_field}" if tool.key_field else tool.key_place


def _in_doubt(tool: Tool) -> str:
    """Say what becomes of a write whose outcome is in doubt; empty for a read, which is asked again."""
    contract = contract_of(tool)
    if contract.effect is Effect.READ:
        return ""
    if contract.key_window_seconds > 0:
        return "same key"
    return "looked up" if contract.reader is not None else "told"


def _state(tool: Tool) -> str:
    offered = "offered" if tool.is_offered else "not offered"
    return offered if tool.is_approved else f"{offered}, to approve"


def _shown(value: Any) -> str:
    """Return a column's value on one line; text as it is, the rest as JSON."""
    if value in ("", None):
        return "none"
    return value if isinstance(value, str) else json.dumps(value)


def _value(name: str, text: str) -> Any:
    try:
        return parse_yaml(text)
    except BadInput as error:
        raise BadInput(f"--{name} {error}") from error
