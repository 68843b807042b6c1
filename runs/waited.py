"""How long a family of runs has slept until people decided: that is nobody's use of an agent."""

from __future__ import annotations

from datetime import datetime

from runs import hot
from runs.approved_run import is_approved_run
from runs.checkpoint import Checkpoint

WAITED = """
SELECT coalesce(sum(extract(epoch FROM coalesce(a.decided_at, r.ended_at, liyagent_now()) - a.created_at)), 0)::double precision
    FROM runs_run r JOIN approvals_approval a ON a.run_id = r.id
    WHERE r.correlation_id = %s AND (r.id = %s OR NOT %s AND r.loop NOT LIKE 'approved:%%') AND a.run_waits AND a.created_at >= %s
"""


def seconds_waited(checkpoint: Checkpoint, *, since: datetime) -> float:
    """Return the seconds from each request for which a run of the family slept, and since `since`, to its decision.

    The end of a run ends its wait too. Of a family one run is awake at a time, so that no second counts twice; a run that
    makes an approved call is carried beside it, and its waits are its own. Raises `LostLease`.
    """
    run = checkpoint.run
    values = (run.correlation_id, run.id, is_approved_run(run), since)
    seconds: float = hot.ask(WAITED, values, give_up=checkpoint.give_up)[0][0]
    return seconds
