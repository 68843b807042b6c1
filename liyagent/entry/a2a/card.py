"""An agent's card: what anybody may know of it, and what those know who may ask it. For clients of 1.0 and of 0.3."""

from __future__ import annotations

from typing import Any

from liyagent.agents.channels import is_open
from liyagent.agents.errors import AgentUnknown
from liyagent.agents.models import Agent
from liyagent.entry.a2a.wire import Version
from liyagent.gateway.contracts import contracts_for
from runs.begin import current_config

CHANNEL = "a2a"
BINDING = "JSONRPC"
SCHEME = "apiKey"
INPUTS, OUTPUTS = ["text/plain", "application/json"], ["text/plain"]
MOST_SKILLS = 200
PROTOCOL_03 = "0.3.0"


def open_agent(key: str) -> Agent:
    """Return an agent that other agents may ask. Raises `AgentUnknown`, alike for one that is not there or not open."""
    agent = Agent.objects.filter(key=key, is_enabled=True).first()
    if agent is None or not is_open(agent.channels, CHANNEL):
        raise AgentUnknown(f"there is no agent {key!r} to ask over A2A")
    return agent


def card_of(agent: Agent, *, url: str) -> dict[str, Any]:
    """Return the card that anybody may read: a name and how to ask, nothing of instructions or tools."""
    return {**_of_both(agent), **_of_10(url), **_of_03(url)}


def extended_card_of(agent: Agent, *, url: str) -> dict[str, Any]:
    """Return the card for who may ask: with a skill for each tool that the agent may call, 200 at most."""
    card = card_of(agent, url=url)
    contracts = contracts_for(agent.tool_patterns, version=current_config())
    tools = [
        {
            "id": name,
            "name": name,
            "description": contract.description or f"Calls the tool {name}.",
            "tags": [contract.effect.value],
        }
        for name, contract in sorted(contracts.items())[:MOST_SKILLS]
    ]
    return {**card, "skills": [*card["skills"], *tools]}


def _of_both(agent: Agent) -> dict[str, Any]:
    description = f"{agent.name}: an agent that carries out tasks, and asks people where it must."
    skill = {"id": agent.key, "name": agent.name, "description": description, "tags": ["task"]}
    return {
        "name": agent.name,
        "description": description,
        "version": str(agent.version),
        "capabilities": {
            "streaming": True,
            "pushNotifications": True,
            "extendedAgentCard": True,
        },
        "defaultInputModes": INPUTS,
        "defaultOutputModes": OUTPUTS,
        "skills": [skill],
        "securitySchemes": {
            SCHEME: {
                "httpAuthSecurityScheme": {"scheme": "Bearer"},
                "type": "http",
                "scheme": "Bearer",
            }
        },
    }


def _of_10(url: str) -> dict[str, Any]:
    return {
        "supportedInterfaces": [
            {"url": url, "protocolBinding": BINDING, "protocolVersion": version.value}
            for version in (Version.V10, Version.V03)
        ],
        "securityRequirements": [{"schemes": {SCHEME: {"list": []}}}],
    }


def _of_03(url: str) -> dict[str, Any]:
    return {
        "protocolVersion": PROTOCOL_03,
        "url": url,
        "preferredTransport": BINDING,
        "additionalInterfaces": [{"url": url, "transport": BINDING}],
        "supportsAuthenticatedExtendedCard": True,
        "security": [{SCHEME: []}],
    }
