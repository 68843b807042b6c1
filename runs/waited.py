"""How long a family of runs has slept until people decided: that is nobody's use of an agent."""

from __future__ import annotations

from datetime import datetime

from runs import hot
from runs.checkpoint import Checkpoint

WAITED = """
SELECT coalesce(sum(extract(epoch FROM coalesce(a.decided_at, liyagent_now()) - a.created_at)), 0)::double precision
    FROM approvals_approval a
    WHERE a.run_waits AND a.created_at >= %s
        AND a.run_id IN (SELECT r.id FROM runs_run r WHERE r.correlation_id = %s)
"""


def seconds_waited(checkpoint: Checkpoint, *, since: datetime) -> float:
    """Return the seconds from each request for which a run of the family slept, and since `since`, to its decision.

    Of a family one run is awake at a time, so that no second counts twice. Raises `LostLease`.
    """
    values = (since, checkpoint.run.correlation_id)
    seconds: float = hot.ask(WAITED, values, give_up=checkpoint.give_up)[0][0]
    return seconds
