"""End a job: done, failed, interrupted or cancelled, once, with its audit row; and forget those long ended."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.db import connection, transaction

from liyagent.audit.record import record
from liyagent.core.metrics import JOBS_ENDED
from liyagent.core.plain import clean_text
from liyagent.jobs.after_end import owing
from liyagent.jobs.ask import find_job
from liyagent.jobs.errors import JobEnded
from liyagent.jobs.models import Job, JobStatus

FORGET_SECONDS, MOST_A_LOOK = 90 * 86_400.0, 500
LONGEST_REASON = 500

END = """
UPDATE jobs_job SET status = %s, reason = %s, ended_at = liyagent_now(), claimed_by = NULL,
        after_end_at = CASE WHEN kind = ANY(%s) THEN liyagent_now() END
    WHERE id = %s AND status IN ('queued', 'running') AND (%s::int IS NULL OR attempt = %s)
    RETURNING kind, subject, mission, request_id, asked_by, done
"""
FORGET = """
DELETE FROM jobs_job WHERE id IN (SELECT id FROM jobs_job
    WHERE ended_at IS NOT NULL AND ended_at < (SELECT liyagent_now()) - make_interval(secs => %s)
    ORDER BY ended_at LIMIT %s FOR UPDATE SKIP LOCKED)
"""


def cancel_job(job_id: str | UUID, *, actor: str) -> Job:
    """End a job as cancelled: a step in hand is not kept any more. Raises `JobUnknown`, `JobEnded`."""
    job = find_job(job_id)
    if not end_job(job.id, JobStatus.CANCELLED, f"cancelled by {actor}", actor=actor):
        job.refresh_from_db()
        raise JobEnded(f"{job} has ended as {job.status}")
    job.refresh_from_db()
    return job


def end_job(
    job_id: UUID,
    status: JobStatus,
    reason: str = "",
    *,
    attempt: int | None = None,
    actor: str = "",
) -> bool:
    """End it, where it has not ended and, with an `attempt`, is still of that attempt; whether it did.

    Opens its own transaction, which may stand in the caller's.
    """
    said = clean_text(reason)[:LONGEST_REASON]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(END, [status, said, owing(), job_id, attempt, attempt])
        row = cursor.fetchone()
        if row is None:
            return False
        kind, subject, mission, request_id, asked_by, done = row
        told = {"job": str(job_id), "kind": kind, "subject": subject, "done": done}
        detail = {**told, "status": str(status), "reason": said}
        by = actor or asked_by
        record("job.ended", actor=by, mission=mission, request_id=request_id, detail=detail)
    JOBS_ENDED.of(kind, str(status)).inc()
    return True


def forget_jobs(_give_up: Callable[[], bool], *, limit: int = MOST_A_LOOK) -> int:
    """Forget at most `limit` jobs that ended 90 days ago, and return how many went."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET, [FORGET_SECONDS, limit])
        return int(cursor.rowcount)
