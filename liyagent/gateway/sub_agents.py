"""Sub-agents as tools: `agents/<key>`, for an agent with a pattern that names them so."""

from __future__ import annotations

from liyagent.agents.models import Agent
from liyagent.agents.sub_agents import SERVER
from liyagent.gateway.outcome import Contract, Effect

LONGEST_TASK = 100_000
SCHEMA = {
    "type": "object",
    "properties": {
        "task": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_TASK,
            "description": "What the agent shall do, with all that it has to know: it sees nothing else.",
        }
    },
    "required": ["task"],
    "additionalProperties": False,
}


def sub_agent_contracts() -> dict[str, Contract]:
    """Return the contract of each agent that may work, by its name as a tool.

    A delegation changes something: it is marked as a write, and asked again by its key (CR-10, CR-23).
    """
    agents = Agent.objects.filter(is_enabled=True, is_contained=False).only("key", "name")
    contracts = (
        Contract(
            server=SERVER,
            tool=it.key,
            effect=Effect.WRITE,
            schema=SCHEMA,
            description=f"Hands a task to the agent {it.name} and returns its answer.",
            is_delegation=True,
        )
        for it in agents.order_by("key")
    )
    return {it.name: it for it in contracts}
