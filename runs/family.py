"""Those who handed a run its work: their rights, their posture and the root's caps bind it too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from liyagent.agents.models import WritePosture
from liyagent.gateway.outcome import Asker
from runs import hot
from runs.authority import AgentNow, agent_now
from runs.checkpoint import Checkpoint
from runs.hot import Counters

CHAIN = "chain"
SUMS = (
    "SELECT count(*), coalesce(sum(model_steps), 0)::bigint, coalesce(sum(calls_made), 0)::bigint,"
    " coalesce(sum(input_tokens), 0)::bigint, coalesce(sum(output_tokens), 0)::bigint, min(created_at)"
    " FROM runs_run WHERE correlation_id = %s AND id <> %s"
)
STRICTEST = (WritePosture.REFUSE.value, WritePosture.HOLD.value, WritePosture.ALLOW.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What the other runs of the same root have used, as of when this attempt looked; `chain` are the agents above."""

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
    ((_, steps, calls, tokens_in, tokens_out, started),) = hot.ask(
        SUMS, values, give_up=checkpoint.give_up
    )
    return Family(
        chain=chain_of(checkpoint.parts[0]),
        used=Counters(steps=steps, calls=calls, input_tokens=tokens_in, output_tokens=tokens_out),
        started=started,
    )


def chain_of(start: dict[str, Any]) -> tuple[str, ...]:
    """Return the agents that handed a run down, from the root's on; none of one that was started."""
    return tuple(start.get(CHAIN, ()))


def asker_within(asker: Asker, chain: Sequence[str], *, started_by: str, config: int) -> Asker:
    """Return `asker` bound by those above it: every one's rights, the strictest posture, anybody's containment."""
    above = [agent_now(key, config=config) for key in chain]
    there = [it for it in above if it is not None]
    postures = [asker.write_posture, *(it.write_posture for it in there)]
    return replace(
        asker,
        rights_above=tuple(it.rights(started_by) for it in there),
        write_posture=min(postures, key=STRICTEST.index),
        contained=asker.contained or len(there) < len(above) or any(map(_is_held_back, there)),
    )


def _is_held_back(agent: AgentNow) -> bool:
    return agent.is_contained or agent.is_all_contained or not agent.is_enabled
