"""Ask for a red team against an agent."""

from __future__ import annotations

from collections.abc import Sequence

from liyagent.agents.containment import is_everything_contained
from liyagent.agents.errors import AgentUnknown
from liyagent.agents.models import Agent
from liyagent.core.errors import BadInput
from liyagent.jobs.ask import Asked, ask_for
from liyagent.training.red_teams.prompts import kinds, prompts_of

KIND = "red_team"
CALLS, MOST_CALLS = 100, 500
TOKENS, MOST_TOKENS = 200_000, 5_000_000


def ask_red_team(
    agent_key: str,
    *,
    asked_by: str,
    only: Sequence[str] = (),
    most_calls: int = CALLS,
    most_tokens: int = TOKENS,
    mission: str = "",
) -> Asked:
    """Ask for a red team; one against this agent that goes on already is found.

    At most `most_calls` questions are put to the agent's model, and none once `most_tokens` were used. Raises `AgentUnknown`,
    `BadInput`.
    """
    agent = Agent.objects.filter(key=agent_key.replace("\x00", "")).first()
    if agent is None:
        raise AgentUnknown(f"there is no agent {agent_key[:80]!r}")
    refusal = refusal_of(agent)
    if refusal:
        raise BadInput(refusal)
    for name, value, most in (("most_calls", most_calls, MOST_CALLS), ("most_tokens", most_tokens, MOST_TOKENS)):  # fmt: skip
        if not 1 <= value <= most:
            raise BadInput(f"{name} wants a number from 1 to {most}")
    prompts_of(list(only))
    chosen = [it for it in kinds() if it in only]
    params = {"kinds": chosen, "most_calls": most_calls, "most_tokens": most_tokens}
    return ask_for(KIND, agent.key, asked_by=asked_by, params=params, mission=mission)


def refusal_of(agent: Agent) -> str:
    """Say why nothing of an agent may be tried now, empty where it may."""
    if agent.is_contained or is_everything_contained():
        return f"agent {agent.key} is contained: nothing of it is sent"
    return ""
