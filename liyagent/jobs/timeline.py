"""What a mission's timeline tells of background jobs."""

from __future__ import annotations

from uuid import UUID

from django.urls import reverse

from liyagent.access.permissions import VIEW_AGENT
from liyagent.core.paging import bad_cursor
from liyagent.jobs.models import Job
from missions.timeline import Entry, Source, register

FACTS = (
    "id", "kind", "subject", "status", "done", "total", "attempt", "losses", "asked_by", "created_at", "ended_at",
)  # fmt: skip


def jobs_of(mission: str, before: str, limit: int) -> list[Entry]:
    """Return the jobs of a mission, the newest first: their ids rise with time."""
    rows = Job.objects.filter(mission=mission).only(*FACTS).order_by("-id")
    if before:
        try:
            rows = rows.filter(id__lt=UUID(before))
        except ValueError:
            raise bad_cursor() from None
    return [_entry(it) for it in rows[:limit]]


def _entry(job: Job) -> Entry:
    return Entry(
        at=job.created_at,
        place=job.id.hex,
        kind="job",
        told=f"a job was asked for: {job}; it is {job.status}",
        by=job.asked_by,
        url=reverse("job", args=[job.id]),
        facts={
            "job": str(job.id),
            "kind": job.kind,
            "subject": job.subject,
            "status": job.status,
            "done": job.done,
            "total": job.total,
            "attempts": job.attempt,
            "losses": job.losses,
            "ended_at": job.ended_at,
        },
    )


register(Source(name="jobs", needs=VIEW_AGENT, entries=jobs_of))
