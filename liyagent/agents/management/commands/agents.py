"""Load, list, contain and release agents."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.agents.containment import contain_agent, release_agent
from liyagent.agents.load import load_agents_file
from liyagent.agents.models import Agent
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned


class Command(BaseCommand):
    """One subcommand a verb."""

    help = "Agents: load FILE.yaml | list | contain KEY --reason R | release KEY"

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("load", help="save every agent of a file, or none").add_argument("file")
        verbs.add_parser("list", help="every agent")
        contain = verbs.add_parser("contain", help="let nothing of an agent start, resume or send")
        contain.add_argument("key")
        contain.add_argument("--reason", required=True)
        verbs.add_parser("release", help="end a containment").add_argument("key")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _load(self, options: dict[str, Any]) -> None:
        for agent in load_agents_file(options["file"], actor=operator_name()):
            self.stdout.write(f"{agent.key} version {agent.version}")

    def _list(self, options: dict[str, Any]) -> None:
        rows = [
            (it.key, it.version, it.provider, it.model, it.write_posture, it.recording, _state(it))
            for it in Agent.objects.order_by("key")
        ]
        heads = ("KEY", "VERSION", "PROVIDER", "MODEL", "WRITES", "RECORDING", "STATE")
        self.stdout.write(aligned(heads, rows))

    def _contain(self, options: dict[str, Any]) -> None:
        contain_agent(options["key"], actor=operator_name(), reason=options["reason"])
        self.stdout.write(f"{options['key']} is contained")

    def _release(self, options: dict[str, Any]) -> None:
        release_agent(options["key"], actor=operator_name())
        self.stdout.write(f"{options['key']} is released")


def _state(agent: Agent) -> str:
    if agent.is_contained:
        return f"contained by {agent.contained_by}: {agent.contained_reason}"
    return "enabled" if agent.is_enabled else "switched off"
