"""What a mining has seen so far, a small state a pattern: in a table, from which any process goes on, or, where nothing is
to be written, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import orjson
from django.db import connection

from routines.models import Sighting
from routines.scan import Batch

# Of so many runs, the newest, a routine is compiled.
MOST_SOURCES = 200
# So many patterns are looked at further, those seen most.
MOST_GROUPS = 200
ADD = f"""
INSERT INTO routines_sighting AS it (job_id, pattern, count, runs)
    SELECT %s, pattern, jsonb_array_length(runs), runs FROM unnest(%s::text[], %s::jsonb[]) AS given (pattern, runs)
    ON CONFLICT (job_id, pattern) DO UPDATE SET count = it.count + excluded.count,
        runs = CASE WHEN jsonb_array_length(it.runs) >= {MOST_SOURCES} THEN it.runs ELSE it.runs || excluded.runs END
"""  # noqa: S608 - a constant


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Runs of one pattern: how many were seen, and the ids of the newest of them, the newest first."""

    pattern: str
    count: int
    runs: Sequence[UUID]


@dataclass(slots=True)
class Seen:
    """What was seen, in memory."""

    counts: dict[str, int] = field(default_factory=dict)
    runs: dict[str, list[UUID]] = field(default_factory=dict)

    def add(self, batch: Batch) -> None:
        """Take in what a batch saw."""
        for pattern, runs in batch.seen.items():
            self.counts[pattern] = self.counts.get(pattern, 0) + len(runs)
            kept = self.runs.setdefault(pattern, [])
            kept += runs[: MOST_SOURCES - len(kept)]

    def groups(self, *, at_least: int) -> list[Group]:
        """Return the patterns that were seen often enough, the most frequent first."""
        often = [(-count, it) for it, count in self.counts.items() if count >= at_least]
        return [
            Group(pattern=it, count=-count, runs=self.runs[it])
            for count, it in sorted(often)[:MOST_GROUPS]
        ]


def add_sightings(job_id: UUID, batch: Batch) -> None:
    """Take in what a batch saw, within the caller's transaction."""
    if not batch.seen:
        return
    patterns = sorted(batch.seen)
    runs = [orjson.dumps([str(run) for run in batch.seen[it]]).decode() for it in patterns]
    with connection.cursor() as cursor:
        cursor.execute(ADD, [job_id, patterns, runs])


def groups_of(job_id: UUID, *, at_least: int) -> list[str]:
    """Return the patterns that a mining saw often enough, the most frequent first."""
    rows = Sighting.objects.filter(job_id=job_id, count__gte=at_least).order_by("-count", "pattern")
    return list(rows.values_list("pattern", flat=True)[:MOST_GROUPS])


def group_of(job_id: UUID, pattern: str) -> Group:
    """Return what a mining saw of one pattern."""
    seen = Sighting.objects.get(job_id=job_id, pattern=pattern)
    return Group(pattern=pattern, count=seen.count, runs=_ids(seen.runs))


def forget_sightings(job_id: UUID) -> None:
    """Forget what a mining saw: it has ended."""
    Sighting.objects.filter(job_id=job_id).delete()


def _ids(texts: Iterable[str]) -> list[UUID]:
    return [UUID(it) for it in texts][:MOST_SOURCES]
