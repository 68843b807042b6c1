"""Ask for a job: a row that any process takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from django.db import connection, transaction

from liyagent.audit.record import record
from liyagent.core.ids import new_id
from liyagent.core.plain import to_plain
from liyagent.core.transactions import require_transaction
from liyagent.jobs.errors import JobUnknown, KindUnknown
from liyagent.jobs.handlers import HANDLERS
from liyagent.jobs.models import LIVE, Job
from missions.context import current_stamp

LARGEST_PARAMS_BYTES = 64 << 10
ASK = """
INSERT INTO jobs_job (id, kind, subject, params, cursor, status, done, words, attempt, losses, losses_here, next_at, asked_by,
        mission, request_id, reason, created_at)
    VALUES (%s, %s, %s, %s::jsonb, '{}', 'queued', 0, '', 0, 0, 0, liyagent_now(), %s, %s, %s, '', liyagent_now())
    ON CONFLICT (kind, subject) WHERE status IN ('queued', 'running') DO NOTHING
    RETURNING id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The job, and whether this asking made it: one that goes on already is found instead."""

    job: Job
    is_new: bool


def ask_for(
    kind: str,
    subject: str,
    *,
    asked_by: str,
    params: Mapping[str, Any] | None = None,
    mission: str = "",
    beside: Callable[[], object] | None = None,
) -> Asked:
    """Keep a job, or find the one of its kind about `subject` that has not ended.

    `beside` keeps what a new one needs, in the same commit: both or neither. Raises `KindUnknown`, and `TooLarge` for `params` of more than 64 KiB.
    """
    if kind not in HANDLERS:
        known = ", ".join(sorted(HANDLERS)) or "none"
        raise KindUnknown(f"no process does {kind[:40]!r}; the known kinds are {known}")
    plain = to_plain(dict(params or {}), limit_bytes=LARGEST_PARAMS_BYTES)
    while True:
        with transaction.atomic(durable=True):
            job_id = keep_job(kind, subject, asked_by=asked_by, params=plain, mission=mission)
            if job_id is not None:
                if beside is not None:
                    beside()
                return Asked(job=Job.objects.get(id=job_id), is_new=True)
        found = Job.objects.filter(kind=kind, subject=subject, status__in=LIVE).first()
        # None where it ended between the two statements.
        if found is not None:
            return Asked(job=found, is_new=False)


def keep_job(
    kind: str, subject: str, *, asked_by: str, params: Any, mission: str = ""
) -> UUID | None:
    """Keep a job within the caller's transaction, and return its id; None where one of its kind about `subject` has not ended.

    Where no mission is given, it is that of what is worked for here; a job that no request asked for is its own (MI-02).
    """
    require_transaction("keeping a job")
    job_id, stamp = new_id(), current_stamp()
    request_id = stamp.request_id or str(job_id)
    mission = mission or stamp.mission_of_work or request_id
    values: list[Any] = [
        job_id, kind, subject, orjson.dumps(params).decode(), asked_by[:150], mission, request_id,
    ]  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(ASK, values)
        is_new = cursor.fetchone() is not None
    if not is_new:
        return None
    told = {"job": str(job_id), "kind": kind, "subject": subject}
    record("job.asked", actor=asked_by, mission=mission, request_id=request_id, detail=told)
    return job_id


def find_job(job_id: str | UUID) -> Job:
    """Return a job. Raises `JobUnknown`."""
    try:
        wanted = job_id if isinstance(job_id, UUID) else UUID(job_id)
    except ValueError:
        raise JobUnknown(f"{str(job_id)[:80]!r} is no id of a job; see `/api/jobs`") from None
    job = Job.objects.filter(id=wanted).first()
    if job is None:
        raise JobUnknown(f"there is no job {wanted}")
    return job
