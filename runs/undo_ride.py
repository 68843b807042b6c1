"""How a write is undone, as it rides in the commit that says that the write took effect (SG-03)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings

from events.buffer import EventBuffer
from liyagent.core.seal import Sealer
from liyagent.gateway.outcome import Call
from runs.checkpoint import keyring
from runs.errors import CheckpointBroken
from runs.hot import SagaRide
from runs.keys import undo_key
from runs.marks import place_of
from sagas.declare import Declared, resolve
from sagas.models import Undo

FORMAT, UNDO, UNDO_OUTCOME = 1, "undo", "undo-outcome"
# How it goes to a person where the run has ended, and nothing was to be said of its saga then.
HANDOFF = "handoff"


def ride_of_unknown() -> SagaRide:
    """Return what is told where the write itself is of unknown outcome: its saga has to be there, so that it is listed in it."""
    return SagaRide(facts={HANDOFF: settings.LIYAGENT.saga_handoff})


def undo_ride(
    declared: Declared,
    result: Any,
    *,
    saga: UUID,
    run_id: UUID,
    agent: str,
    step: int,
    index: int,
    chain: tuple[str, ...] = (),
    is_known: bool = True,
) -> SagaRide:
    """Return the undo of a call that took effect, its arguments fixed now and sealed with the newest key.

    One whose arguments read what is not there is registered as missing. `is_known`: what the write returned is known.
    `chain` are the agents that had handed the work down to `agent`, whose gates the undo will pass.
    """
    resolved = resolve(declared, result, is_known=is_known)
    ring, key = keyring(), undo_key(run_id=run_id, step=step, index=index)
    facts = {
        "server": resolved.server,
        "tool": resolved.tool,
        "key": key,
        "agent": agent,
        "key_id": ring.newest,
        # What it found in the place of the path are words.
        "missing": resolved.missing.partition(": ")[0],
    }
    kept = {
        **facts,
        "saga": str(saga),
        "args": resolved.args,
        "chain": list(chain),
        "missing": resolved.missing,
    }
    sealer = ring.sealer(key_id=ring.newest, run_id=run_id, format_number=FORMAT)
    return SagaRide(
        facts={**facts, HANDOFF: settings.LIYAGENT.saga_handoff},
        sealed=(sealer.seal(kept, kind=UNDO, number=place_of(step, index)),),
    )


def tell_registered(events: EventBuffer, ride: SagaRide, *, step: int, call: Call) -> None:
    """Buffer that an undo is owed, or that it is missing."""
    facts = ride.facts or {}
    more = {"missing": facts["missing"]} if facts["missing"] else {}
    events.add(
        "saga.registered",
        step=step,
        index=call.index,
        server=call.server,
        tool=call.tool,
        key=facts["key"],
        undo=f"{facts['server']}/{facts['tool']}",
        **more,
    )


def sealer_of_undo(undo: Undo) -> Sealer:
    """Return what seals and opens an undo's words. Raises `KeyMissing`."""
    return keyring().sealer(key_id=undo.key_id, run_id=undo.run_id, format_number=FORMAT)


def open_undo(undo: Undo) -> dict[str, Any]:
    """Return an undo as it was sealed: saga, server, tool, key, agent, chain and `args`.

    Raises `KeyMissing`, `SealBroken`, `CheckpointBroken` where a column of its row is another.
    """
    place = place_of(undo.step, undo.index)
    kept: dict[str, Any] = sealer_of_undo(undo).open(undo.sealed, kind=UNDO, number=place)
    sealed = tuple(kept.get(name) for name in ("saga", "server", "tool", "key", "agent"))
    if sealed != (str(undo.saga_id), undo.server, undo.tool, undo.key, undo.agent_key):
        raise CheckpointBroken(f"undo {undo.order} is not the one that was sealed")
    return kept
