"""Take the signal that a step waits for: the oldest of its name that no step has taken."""

from __future__ import annotations

from datetime import datetime

from liyagent.core.seal import KeyMissing
from liyagent.gateway.outcome import Call, Fate, Outcome
from liyagent.workflows.models import Signal
from liyagent.workflows.signal import payload_of
from runs import hot
from runs.checkpoint import stored_rows
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
        try:
            result = {"name": name, "payload": payload_of(found[0]), "by": found[0].sent_by}
        except KeyMissing as error:
            raise come_back(checkpoint) from error
        return answered(scope, call, Outcome(fate=Fate.DONE, result=result))
    deadline = datetime.fromisoformat(until) if until else None
    if deadline is not None and checkpoint.database_time() >= deadline:
        told = f"no signal {name!r} came until {deadline:%Y-%m-%d %H:%M:%S} UTC"
        return answered(scope, call, Outcome(fate=Fate.FAILED, error=told))
    # The head was read, with its wakes, before this.
    raise pause(checkpoint, until=deadline, wakes=checkpoint.run.wakes)
