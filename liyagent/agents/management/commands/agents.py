"""Load, check, export, show, contain and release agents."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.agents.containment import (
    contain_agent,
    contain_all,
    containment_of_all,
    release_agent,
    release_all,
)
from liyagent.agents.definitions import definition_of
from liyagent.agents.export import export_agents, written
from liyagent.agents.listing import find_agent
from liyagent.agents.load import changes_of, load_agents_file, missing_sub_agents, read_agents_file
from liyagent.agents.models import Agent
from liyagent.core.errors import BadInput
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, visible


class Command(BaseCommand):
    """One subcommand a verb."""

    help = (
        "Agents: load FILE.yaml | check FILE.yaml | export [KEY...] | list | show KEY | "
        "contain KEY or --all --reason R | release KEY or --all"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("load", help="save every agent of a file, or none").add_argument("file")
        check = verbs.add_parser("check", help="say what is wrong in a file; nothing is written")
        check.add_argument("file")
        export = verbs.add_parser("export", help="write what load reads: all agents, or some")
        export.add_argument("keys", nargs="*", metavar="key")
        verbs.add_parser("list", help="every agent")
        verbs.add_parser("show", help="one agent as it is defined now").add_argument("key")
        contain = verbs.add_parser("contain", help="let nothing of an agent start, resume or send")
        _one_or_all(contain)
        contain.add_argument("--reason", required=True)
        _one_or_all(verbs.add_parser("release", help="end a containment"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _load(self, options: dict[str, Any]) -> None:
        agents = load_agents_file(options["file"], actor=operator_name())
        for agent in agents:
            self.stdout.write(f"{agent.key} version {agent.version}")
        self._warn([definition_of(agent) for agent in agents])

    def _check(self, options: dict[str, Any]) -> None:
        definitions, told = read_agents_file(options["file"])
        for line in told:
            self.stdout.write(f"{options['file']}: {line}")
        if told:
            raise BadInput(f"{options['file']} cannot be loaded as it is")
        for definition in definitions:
            self.stdout.write(f"{definition['key']}: {_would(changes_of(definition))}")
        self._warn(definitions)

    def _warn(self, definitions: list[dict[str, Any]]) -> None:
        for line in missing_sub_agents(definitions):
            self.stderr.write(visible(f"warning: {line}"))

    def _export(self, options: dict[str, Any]) -> None:
        self.stdout.write(export_agents(options["keys"]), ending="")

    def _list(self, options: dict[str, Any]) -> None:
        rows = [
            (it.key, it.version, it.provider, it.model, it.write_posture, it.recording, _state(it))
            for it in Agent.objects.order_by("key").iterator()
        ]
        heads = ("KEY", "VERSION", "PROVIDER", "MODEL", "WRITES", "RECORDING", "STATE")
        self.stdout.write(aligned(heads, rows))
        everything = containment_of_all()
        if everything is not None:
            why = f"{visible(everything.contained_by)}: {visible(everything.contained_reason)}"
            self.stdout.write(f"everything is contained by {why}")
            self.stdout.write("end it with: agents release --all")

    def _show(self, options: dict[str, Any]) -> None:
        agent = find_agent(options["key"])
        self.stdout.write(visible(f"# version {agent.version}, {_state(agent)}"))
        self.stdout.write(written([definition_of(agent)]), ending="")

    def _contain(self, options: dict[str, Any]) -> None:
        if _is_all(options):
            contain_all(actor=operator_name(), reason=options["reason"])
            self.stdout.write("everything is contained")
        else:
            contain_agent(options["key"], actor=operator_name(), reason=options["reason"])
            self.stdout.write(f"{options['key']} is contained")

    def _release(self, options: dict[str, Any]) -> None:
        if _is_all(options):
            release_all(actor=operator_name())
            self.stdout.write("what was not contained on its own is released")
        else:
            release_agent(options["key"], actor=operator_name())
            self.stdout.write(f"{options['key']} is released")


def _one_or_all(parser: CommandParser) -> None:
    parser.add_argument("key", nargs="?", default="")
    parser.add_argument("--all", action="store_true", help="everything, in place of one agent")


def _is_all(options: dict[str, Any]) -> bool:
    if bool(options["key"]) == options["all"]:
        raise BadInput("name one agent, or --all for everything")
    return bool(options["all"])


def _would(changed: list[str] | None) -> str:
    if changed is None:
        return "would be new"
    return f"would change {', '.join(changed)}" if changed else "would stay as it is"


def _state(agent: Agent) -> str:
    if agent.is_contained:
        return f"contained by {agent.contained_by}: {' '.join(agent.contained_reason.split())}"
    return "enabled" if agent.is_enabled else "switched off"
