"""Ask for an agent's recent runs to be mined."""

from __future__ import annotations

from liyagent.agents.errors import AgentUnknown
from liyagent.agents.models import Agent
from liyagent.jobs.ask import Asked, ask_for

KIND = "routine_mining"


def ask_mining(agent_key: str, *, asked_by: str, mission: str = "") -> Asked:
    """Ask for it; a mining of this agent that goes on already is found. Raises `AgentUnknown`."""
    return ask_for(KIND, find_agent(agent_key).key, asked_by=asked_by, mission=mission)


def find_agent(key: str) -> Agent:
    """Return an agent. Raises `AgentUnknown`."""
    agent = Agent.objects.filter(key=key.replace("\x00", "")).first()
    if agent is None:
        raise AgentUnknown(f"there is no agent {key[:80]!r}")
    return agent
