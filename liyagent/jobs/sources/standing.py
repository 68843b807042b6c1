"""How sources stand: their newest sync, and how many documents each has."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count

from liyagent.jobs.models import Job
from liyagent.jobs.sources.kinds import KIND
from liyagent.jobs.sources.models import Document, Source

LAST = """
SELECT j.* FROM unnest(%s::text[]) AS wanted(key), LATERAL (
    SELECT * FROM jobs_job WHERE kind = %s AND subject = wanted.key ORDER BY id DESC LIMIT 1) AS j
"""


def last_syncs(sources: Sequence[Source]) -> dict[str, Job]:
    """Return the newest sync of each, by key."""
    found = Job.objects.raw(LAST, [[it.key for it in sources], KIND])
    return {it.subject: it for it in found}


def counts(sources: Sequence[Source]) -> dict[int, int]:
    """Return how many documents each has, by its id."""
    rows = Document.objects.filter(source__in=sources).order_by().values_list("source_id")
    return dict(rows.annotate(Count("id")))
