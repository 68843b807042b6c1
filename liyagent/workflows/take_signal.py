"""Take the signal that a step waits for: the oldest of its name that no step has taken."""

from __future__ import annotations

import json
from datetime import datetime
from itertools import pairwise

from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.gateway.outcome import Call, Fate, Outcome
from liyagent.workflows.asks import SIGNAL
from liyagent.workflows.models import Signal
from liyagent.workflows.signal import words_of
from runs import hot
from runs.checkpoint import Checkpoint, stored_rows
from runs.delegate import come_back
from runs.rest import answered
from runs.scope import RunScope
from runs.suspend import pause

# One a step, by a constraint: two attempts of the step take the same.
TAKE = """
UPDATE workflows_signal SET taken_by = %s WHERE id = (
    SELECT s.id FROM workflows_signal s WHERE s.run_id = %s AND s.name = %s AND s.taken_by IS NULL
        AND NOT EXISTS (SELECT 1 FROM workflows_signal t WHERE t.run_id = s.run_id AND t.taken_by = %s)
    ORDER BY s.id LIMIT 1 FOR UPDATE)
"""


def take_signal(scope: RunScope, call: Call) -> Outcome:
    """Answer with the signal's payload, name and sender; a failure once it is too late. Raises `HandedBack` until then."""
    checkpoint, name, until = scope.checkpoint, call.args["name"], call.args["until"]
    run_id = checkpoint.run_id
    hot.ask(
        f"{TAKE} RETURNING id", (scope.step, run_id, name, scope.step), give_up=checkpoint.give_up
    )
    found = stored_rows(
        Signal, "run_id = %s AND taken_by = %s", (run_id, scope.step), give_up=checkpoint.give_up
    )
    if found:
        return answered(scope, call, _told(checkpoint, found[0], name))
    deadline = datetime.fromisoformat(until) if until else None
    if deadline is not None and checkpoint.database_time() >= deadline:
        told = f"no signal {name!r} came until {deadline:%Y-%m-%d %H:%M:%S} UTC"
        return answered(scope, call, Outcome(fate=Fate.FAILED, error=told))
    # The head was read, with its wakes, before this.
    raise pause(checkpoint, until=deadline, wakes=checkpoint.run.wakes)


def _told(checkpoint: Checkpoint, signal: Signal, name: str) -> Outcome:
    """What a signal says; one that nobody sent so, or that a step took before, says nothing."""
    try:
        words = words_of(signal)
    except KeyMissing as error:
        raise come_back(checkpoint) from error
    except SealBroken as error:
        return Outcome(fate=Fate.FAILED, error=f"signal {name!r} does not verify: {error}")
    if words["name"] != name or signal.id in _taken_before(checkpoint):
        told = f"signal {name!r} does not verify: {signal.id} is none of that name, or was taken before"
        return Outcome(fate=Fate.FAILED, error=told)
    return Outcome(fate=Fate.DONE, result={**words, "signal": signal.id})


def _taken_before(checkpoint: Checkpoint) -> set[int]:
    """The signals that steps before were answered with, by what was sealed of it: a row that is put back is not taken again."""
    parts = checkpoint.parts[1:]
    answers = [
        after["results"][-1]["text"]
        for asked, after in pairwise(parts)
        if asked["calls"][-1]["name"] == SIGNAL and after["results"]
    ]
    results = [json.loads(it)["result"] for it in answers]
    return {it["signal"] for it in results if isinstance(it, dict) and "signal" in it}
