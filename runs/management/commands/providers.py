"""List the providers and whom they serve; ask an endpoint whether it is fit for an agent."""

from __future__ import annotations

import os
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.agents.models import Agent
from liyagent.core.errors import BadInput
from liyagent.core.tables import aligned, visible
from liyagent.providers.check import CheckFailed, check_endpoint
from liyagent.providers.client import PROVIDERS, client_for
from liyagent.providers.endpoint import EndpointClient

MOST_AGENTS = 200
TIMEOUT_SECONDS = 60.0
PROVIDER_HEADS = ("PROVIDER", "SPEAKS", "BASE URL BY DEFAULT")
AGENT_HEADS = ("AGENT", "PROVIDER", "MODEL", "BASE URL", "KEY", "STREAMING")
LOCAL = ("answers from a script", "none")


class Command(BaseCommand):
    """One subcommand a verb."""

    help = "Providers: list | check AGENT | check --provider P --model M [--base-url URL] [--api-key-env NAME]"

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="the providers, and the agents that use them")
        check = verbs.add_parser("check", help="ask an endpoint one tiny question, twice")
        check.add_argument("agent", nargs="?", default="", help="check what this agent uses")
        check.add_argument("--provider", default="", help=", ".join(sorted(PROVIDERS)))
        check.add_argument("--model", default="")
        check.add_argument("--base-url", default="", help="by default the vendor's own")
        check.add_argument("--api-key-env", default="", help="the variable that holds the key")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _list(self, _options: dict[str, Any]) -> None:
        self.stdout.write(
            aligned(PROVIDER_HEADS, [_provider_row(name) for name in sorted(PROVIDERS)])
        )
        agents = Agent.objects.order_by("key")[: MOST_AGENTS + 1]
        rows = [_agent_row(agent) for agent in agents]
        if rows:
            self.stdout.write("\n" + aligned(AGENT_HEADS, rows[:MOST_AGENTS]))
        if len(rows) > MOST_AGENTS:
            self.stdout.write("there are more agents")

    def _check(self, options: dict[str, Any]) -> None:
        endpoint, model, seconds = _asked_for(options)
        client = client_for(**endpoint)
        if not isinstance(client, EndpointClient):
            raise BadInput(
                f"provider {endpoint['provider']!r} has no endpoint that could be checked"
            )
        wrong = []
        for found in check_endpoint(client, model=model, timeout_seconds=seconds):
            line = f"{found.about:<20}{'yes' if found.is_good else 'no '}  {found.says}"
            self.stdout.write(visible(line.rstrip()))
            self.stdout.flush()
            wrong += [] if found.is_good else [f"{found.about}: no; {found.says}"]
        if wrong:
            raise CheckFailed(wrong[0])


def _asked_for(options: dict[str, Any]) -> tuple[dict[str, str], str, float]:
    """The endpoint, model and seconds of an agent or of the options. Raises `BadInput`."""
    names = ("provider", "base_url", "api_key_env")
    given = [name for name in (*names, "model") if options[name]]
    if options["agent"]:
        if given:
            raise BadInput("give an agent, or --provider and --model, not both")
        agent = Agent.objects.filter(key=options["agent"]).first()
        if agent is None:
            raise BadInput(f"there is no agent {options['agent']!r}; `providers list` shows them")
        return (
            {name: getattr(agent, name) for name in names},
            agent.model,
            agent.model_timeout_seconds,
        )
    if not (options["provider"] and options["model"]):
        raise BadInput("give an agent, or --provider and --model")
    return {name: options[name] for name in names}, options["model"], TIMEOUT_SECONDS


def _provider_row(name: str) -> tuple[str, ...]:
    client = client_for(provider=name)
    if isinstance(client, EndpointClient):
        return name, client.speaks, client.default_url
    return name, *LOCAL


def _agent_row(agent: Agent) -> tuple[str, ...]:
    key = agent.api_key_env
    told = "none" if not key else key if os.environ.get(key) else f"{key} (not set here)"
    streaming = "yes" if agent.is_streaming else "no"
    return agent.key, agent.provider, agent.model, agent.base_url or "default", told, streaming
