"""Lists of jobs: by status, kind and subject, newest first, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from liyagent.core.errors import BadInput
from liyagent.core.paging import (
    PAGING,
    Page,
    bad_cursor,
    check_names,
    limit_of,
    read_cursor,
    write_cursor,
)
from liyagent.jobs.models import Job, JobStatus

FILTERS = ("status", "kind", "subject")


def list_jobs(asked: Mapping[str, str]) -> Page[Job]:
    """Return the page that is asked for. Raises `BadInput` for a filter, limit or cursor that cannot be used."""
    check_names(asked, (*FILTERS, *PAGING))
    limit = limit_of(asked)
    wanted = {name: asked[name] for name in FILTERS if name in asked}
    if wanted.get("status", JobStatus.DONE) not in JobStatus.values:
        raise BadInput(f"status wants one of {', '.join(JobStatus.values)}")
    rows = Job.objects.filter(**wanted).order_by("-id")
    if "cursor" in asked:
        rows = rows.filter(id__lt=_id(asked["cursor"]))
    found = list(rows[: limit + 1])
    more = write_cursor([str(found[limit - 1].id)]) if len(found) > limit else ""
    return Page(rows=found[:limit], next_cursor=more)


def _id(cursor: str) -> UUID:
    (text,) = read_cursor(cursor, parts=1)
    try:
        return UUID(text)
    except ValueError:
        raise bad_cursor() from None
