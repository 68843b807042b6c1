"""Those who handed a run its work: their rights, their posture and the root's caps bind it too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from liyagent.agents.models import WritePosture
from liyagent.agents.sub_agents import SUB_AGENTS
from liyagent.gateway.outcome import Above, Asker, Rights
from runs import hot
from runs.authority import AgentNow, agent_now, refusal_of
from runs.checkpoint import Checkpoint
from runs.endings import EndError
from runs.hot import Counters
from runs.models import Run

CHAIN = "chain"
# What the first part of a workflow's run pins.
WORKFLOW = "workflow"
SUMS = (
    "SELECT coalesce(sum(model_steps), 0)::bigint, coalesce(sum(calls_made), 0)::bigint,"
    " coalesce(sum(input_tokens), 0)::bigint, coalesce(sum(output_tokens), 0)::bigint, min(created_at)"
    " FROM runs_run WHERE correlation_id = %s AND id <> %s AND loop NOT LIKE 'approved:%%'"
    " AND loop NOT LIKE 'undo:%%'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What the other runs of the same root have used, as of when this attempt looked; `chain` are the agents above.

    While a run is carried none of them is at it: those above sleep, and those below have ended.
    """

    chain: tuple[str, ...]
    used: Counters
    started: datetime | None

    def with_own(self, own: Counters) -> Counters:
        """Return what the whole family has used."""
        return replace(
            own,
            steps=own.steps + self.used.steps,
            calls=own.calls + self.used.calls,
            input_tokens=own.input_tokens + self.used.input_tokens,
            output_tokens=own.output_tokens + self.used.output_tokens,
        )


def family_of(checkpoint: Checkpoint) -> Family:
    """Read what the others of a run's root have used. Raises `LostLease`."""
    run = checkpoint.run
    values = (run.correlation_id, run.id)
    ((steps, calls, tokens_in, tokens_out, started),) = hot.ask(
        SUMS, values, give_up=checkpoint.give_up
    )
    return Family(
        chain=chain_of(checkpoint),
        used=Counters(steps=steps, calls=calls, input_tokens=tokens_in, output_tokens=tokens_out),
        started=started,
    )


def family_if_any(checkpoint: Checkpoint) -> Family | None:
    """Read the family of a run that was handed its work, or has handed some down; any other has none.

    What it asked for stands in its parts, so that a run by itself asks the database for nothing.
    """
    has_asked = any(
        it["name"].startswith(SUB_AGENTS) for part in checkpoint.parts[1:] for it in part["calls"]
    )
    return family_of(checkpoint) if has_asked or chain_of(checkpoint) else None


def chain_of(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Return the agents that handed a run down, from the root's on, as they were sealed; none of one that was started."""
    if checkpoint.acting_below is not None:
        return checkpoint.acting_below
    start: dict[str, Any] = checkpoint.parts[0]
    return tuple(start.get(CHAIN, ()))


def asker_of(run: Run, agent: AgentNow, *, chain: Sequence[str]) -> Asker:
    """Return what the gates know of a run, bound by those above it; one that is gone holds it back."""
    asker = agent.asker(run)
    return asker.bound_by([_above(key, run, config=agent.config) for key in chain])


def as_carried(checkpoint: Checkpoint, agent: AgentNow) -> AgentNow:
    """Return the agent as a run's calls are made by it: a step of a workflow may hand its work to it besides (RT-03).

    Told by what was sealed when the run began: the agent's own model may not, whatever its run's row says.
    """
    if WORKFLOW not in checkpoint.parts[0]:
        return agent
    own = f"{SUB_AGENTS}{agent.key}"
    return replace(agent, tool_patterns=(*agent.tool_patterns, own), asks_itself=True)


def refusal_above(chain: Sequence[str], *, config: int) -> tuple[EndError, str] | None:
    """Say why a run may not go on for one of those above it, None where it may."""
    for key in chain:
        refusal = refusal_of(Run(agent_key=key), agent_now(key, config=config))
        if refusal is not None:
            return refusal[0], f"{refusal[1]}, which handed this work down"
    return None


def _above(key: str, run: Run, *, config: int) -> Above:
    agent = agent_now(key, config=config)
    if agent is None:
        nobody = Rights(principal="", is_active=False)
        return Above(agent=key, write_posture=WritePosture.REFUSE, rights=nobody, is_held_back=True)
    return Above(
        agent=key,
        write_posture=agent.write_posture,
        rights=agent.rights(run.started_by),
        is_held_back=refusal_of(run, agent) is not None,
    )
