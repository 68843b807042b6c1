"""Take a job for this process, and hand it back: which attempt holds it is decided by one statement each."""

from __future__ import annotations

from threading import Lock
from typing import Any
from uuid import UUID

from django.db import connection

from liyagent.jobs.models import Job

# Lost once more than this at the same step: the job itself is what ends its processes.
MOST_LOSSES_HERE = 2

# Whoever had it is proven dead, has ended or let its lease lapse; or it is ours, and no thread of ours has it: the database
# was away, which is no loss (ruling 10).
TO_TAKE = """SELECT d.id FROM jobs_job d
        WHERE d.status IN ('queued', 'running') AND d.kind = ANY(%s) AND d.next_at <= (SELECT liyagent_now())
            AND (d.status = 'queued' OR (d.status = 'running' AND (d.claimed_by = %s AND NOT d.id = ANY(%s::uuid[])
                OR NOT EXISTS (SELECT 1 FROM leases_holder h WHERE h.id = d.claimed_by AND h.renew_by > liyagent_now()))))
        ORDER BY d.next_at, d.id LIMIT 1"""
TAKE = f"""
UPDATE jobs_job n SET status = 'running', claimed_by = %s, attempt = n.attempt + 1,
        losses = n.losses + coalesce(n.claimed_by <> %s, false)::int,
        losses_here = n.losses_here + coalesce(n.claimed_by <> %s, false)::int,
        started_at = coalesce(n.started_at, liyagent_now())
    WHERE n.id = ({TO_TAKE} FOR UPDATE SKIP LOCKED)
    RETURNING n.id
"""  # noqa: S608 - of constants alone
HAND_BACK = """
UPDATE jobs_job SET status = 'queued', claimed_by = NULL, next_at = liyagent_now() + make_interval(secs => %s)
    WHERE id = %s AND attempt = %s AND status = 'running'
"""


class InHand:
    """The jobs that threads of this process have just now. A take and its note are one: no other thread sees between."""

    def __init__(self) -> None:
        """None yet."""
        self._lock = Lock()
        self._ids: dict[UUID, int] = {}

    def take(self, holder: UUID, kinds: list[str]) -> Job | None:
        """Take the job that is due longest, of a dead process too; None where nothing is due."""
        with self._lock:
            with connection.cursor() as cursor:
                cursor.execute(TAKE, [holder, holder, holder, *self.values_to_take(holder, kinds)])
                row = cursor.fetchone()
            if row is None:
                return None
            # Read before it is noted: where that fails it is nobody's here, and found again.
            job = Job.objects.get(id=row[0])
            self._ids[job.id] = job.attempt
        return job

    def values_to_take(self, holder: UUID | None, kinds: list[str]) -> list[Any]:
        """Return what `TO_TAKE` asks for."""
        return [kinds, holder, list(self._ids)]

    def leave(self, job: Job) -> None:
        """No thread has it any more; unless another took it since."""
        with self._lock:
            if self._ids.get(job.id) == job.attempt:
                del self._ids[job.id]


IN_HAND = InHand()


def hand_back(job: Job, *, seconds: float = 0.0) -> bool:
    """Let any process take it, after `seconds`; false where it is not this attempt's any more. It is no loss."""
    with connection.cursor() as cursor:
        cursor.execute(HAND_BACK, [seconds, job.id, job.attempt])
        return bool(cursor.rowcount)
