"""The undo of a write that took effect, as was found out later: by a person, or at its vendor (rulings 7, 34)."""

from __future__ import annotations

from typing import Any

from liyagent.core.seal import KeyMissing, SealBroken
from runs.checkpoint import sealer_of
from runs.errors import CheckpointBroken
from runs.hot import SagaRide
from runs.marks import open_mark
from runs.models import Call, Run
from runs.undo_ride import undo_ride

# It took effect, and nobody declared how it is undone.
NOTHING_DECLARED = SagaRide(facts={})


def undo_found(call: Call, run: Run, result: Any, *, is_known: bool = True) -> SagaRide:
    """Return how the call is undone, as its mark kept it; one that cannot be opened declares nothing.

    `is_known`: what the call returned is known, as `result`.
    """
    try:
        mark = open_mark(sealer_of(run), call)
    except (KeyMissing, SealBroken, CheckpointBroken):
        return NOTHING_DECLARED
    if mark.undo is None:
        return NOTHING_DECLARED
    return undo_ride(
        mark.undo,
        result,
        saga=run.correlation_id,
        run_id=run.id,
        agent=mark.agent or run.agent_key,
        step=call.step,
        index=call.index,
        chain=mark.chain,
        is_known=is_known,
    )
