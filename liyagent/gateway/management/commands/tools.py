"""`manage.py tools`: what is trusted of each tool."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.errors import BadInput
from liyagent.core.files import parse_yaml
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, visible
from liyagent.gateway.approve import approve_tool, find_tool
from liyagent.gateway.declare import read_contract
from liyagent.gateway.diff import changes_of, heading_of
from liyagent.gateway.models import Tool
from liyagent.gateway.report import report_of
from liyagent.gateway.report_text import ToMend, report_lines
from liyagent.gateway.servers import find_server, set_contract
from liyagent.gateway.states import in_doubt_of, tool_state
from liyagent.gateway.vendor_facts import facts_of, vendor_facts
from liyagent.gateway.vendor_text import facts_lines

FIELDS = ("effect", "key", "reader", "undo", "permission", "timeout", "limit")
LIST_HEADS = ("TOOL", "EFFECT", "KEY", "IN DOUBT", "STATE")
# What a list does not show, and may be long.
WORDS = ("description", "schema", "hints", "approved")
YES = ("y", "yes")


class Command(BaseCommand):
    """List tools, show and approve what changed in them, set their contracts, report on them."""

    help = "Tools: list | report [SERVER] | diff SERVER/TOOL | approve SERVER/TOOL | set SERVER/TOOL --effect read ... | facts [VENDOR]"

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="every tool and its contract")
        report = verbs.add_parser(
            "report",
            help="what becomes of writes in doubt, and what to mend; exit code 1 where anything is",
        )
        report.add_argument("server", nargs="?")
        report.add_argument("--json", action="store_true", help="as JSON")
        diff = verbs.add_parser("diff", help="what changed since it was approved")
        diff.add_argument("tool", metavar="SERVER/TOOL")
        approve = verbs.add_parser("approve", help="show what changed, and approve it")
        approve.add_argument("tool", metavar="SERVER/TOOL")
        approve.add_argument("--yes", action="store_true", help="do not ask")
        change = verbs.add_parser("set", help="change its contract; values are YAML")
        change.add_argument("tool", metavar="SERVER/TOOL")
        for name in FIELDS:
            change.add_argument(f"--{name}")
        facts = verbs.add_parser(
            "facts", help="what vendors document of keys and of finding writes"
        )
        facts.add_argument("vendor", nargs="?")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        verbs = {
            "list": self._list,
            "report": self._report,
            "diff": self._diff,
            "approve": self._approve,
            "set": self._set,
            "facts": self._facts,
        }
        verbs[options["verb"]](options)

    def _list(self, options: dict[str, Any]) -> None:
        rows = [
            (tool, tool.effect, _key(tool), in_doubt_of(tool), tool_state(tool))
            for tool in Tool.objects.select_related("server").defer(*WORDS)
        ]
        self.stdout.write(aligned(LIST_HEADS, rows))

    def _report(self, options: dict[str, Any]) -> None:
        server = options["server"]
        report = report_of(find_server(server).key if server else None)
        if options["json"]:
            self.stdout.write(json.dumps(asdict(report), indent=2))
        else:
            for line in report_lines(report):
                self.stdout.write(visible(line))
        if report.to_mend:
            raise ToMend(f"{report.to_mend} tools have something to mend")

    def _diff(self, options: dict[str, Any]) -> None:
        self._show(find_tool(options["tool"]))

    def _approve(self, options: dict[str, Any]) -> None:
        tool = find_tool(options["tool"])
        self._show(tool)
        if not (options["yes"] or self._agrees()):
            self.stdout.write("not approved")
            return
        approve_tool(tool, actor=operator_name())
        self.stdout.write(f"approved, fingerprint {tool.fingerprint[:12]}")

    def _show(self, tool: Tool) -> None:
        self.stdout.write(visible(heading_of(tool)))
        if changes := changes_of(tool):
            self.stdout.write(changes)

    def _agrees(self) -> bool:
        if not sys.stdin.isatty():
            raise BadInput("there is nobody to ask; add --yes to approve what is shown")
        return input("approve? [y/N] ").strip().lower() in YES

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

    def _facts(self, options: dict[str, Any]) -> None:
        vendor = options["vendor"]
        for facts in [facts_of(vendor)] if vendor else vendor_facts().values():
            for line in facts_lines(facts):
                self.stdout.write(line)


def _key(tool: Tool) -> str:
    return f"{tool.key_place}:{tool.key_field}" if tool.key_field else tool.key_place


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
