"""End cohort replays that nobody ends: their job did, in a process that knows nothing of them, or is not kept any more."""

from __future__ import annotations

from collections.abc import Callable

from django.db import connection, transaction

from liyagent.jobs.models import Job
from liyagent.replays.end import LEFT, end_replay, status_after
from liyagent.replays.models import CohortReplay, ReplayStatus

MOST_A_LOOK = 20
# Where something is owed after the job's end, that ends the replay too.
FOUND = """
SELECT c.id FROM replays_cohortreplay c LEFT JOIN jobs_job j ON j.id = c.job_id
    WHERE c.ended_at IS NULL AND c.status IN ('queued', 'running')
        AND (j.id IS NULL OR (j.ended_at IS NOT NULL AND j.after_end_at IS NULL))
    ORDER BY c.created_at LIMIT %s
"""


def end_left(give_up: Callable[[], bool], *, limit: int = MOST_A_LOOK) -> int:
    """End at most `limit` of them as their jobs ended, and return how many were."""
    with connection.cursor() as cursor:
        cursor.execute(FOUND, [limit])
        found = [row[0] for row in cursor.fetchall()]
    ended = 0
    for replay in CohortReplay.objects.filter(id__in=found):
        if give_up():
            break
        job = Job.objects.filter(id=replay.job_id).first() if replay.job_id else None
        status = ReplayStatus.FAILED if job is None else status_after(job)
        reason = LEFT if job is None else job.reason or LEFT
        with transaction.atomic(durable=True):
            ended += end_replay(replay.id, status, reason, actor=replay.asked_by)
    return ended
