"""Go through the recent runs of an agent, the newest first, and tell of which pattern each is, or why it does not count (RT-01).

One pass in batches by key: rows of runs first, then the chains of those that may count, judged and read in a stream. What stays
of a run is its pattern and its id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import connection

from events.reading import one_moment
from liyagent.agents.models import Recording
from routines.pattern import pattern_of
from runs.models import ENDED, ROOT_LOOP, RunStatus
from runs.recorded import Recorded, RecordedCall, Ref, Unusable, read_recorded

# The runs that are recent: so many at the most, and none older.
MOST_RUNS = 50_000
WINDOW_DAYS = 90
ROWS_AT_ONCE = 200
# Longer work is no routine that a person reads through before adopting it.
MOST_CALLS = 100
# What a run of as many calls tells, with those of its family. The record of a longer one is not read to its end.
MOST_EVENTS = 1_000
MOST_NAMED = 50
FIRST = """
SELECT id, correlation_id, created_at, status, recording, loop, workflow, parent_id IS NULL FROM runs_run
    WHERE agent_key = %(agent)s AND created_at > (SELECT liyagent_now()) - make_interval(days => %(days)s)
"""
BEHIND = " AND created_at <= %(at)s AND (created_at < %(at)s OR id < %(id)s)"
COUNT = f"SELECT count(*) FROM ({FIRST} LIMIT %(limit)s) AS recent"  # noqa: S608 - a constant
ORDER = " ORDER BY created_at DESC, id DESC LIMIT %(limit)s"

PART = "it is part of another run"
OF_WORKFLOW = "it is a run of a workflow: no model chose its calls"
GOES_ON, NOT_ANSWERED = "it has not ended", "it did not answer"
METADATA = "it is recorded as metadata"
NO_CALLS, MANY_CALLS = "it made no call", f"it made more than {MOST_CALLS} calls"
HELD = "a call was held for approval"
UNDECIDED = "it tells of its end in another way than its row"
FATES = {
    "failed": "a call failed",
    "refused": "a call was refused",
    "held": HELD,
    "unknown": "of a call nobody knows what became of it",
}
LET_THROUGH = "posture"
Values = dict[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Behind which run the pass goes on: `at` in ISO 8601, and its id."""

    at: str
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A run that is skipped because nobody may rely on its record, by name."""

    run_id: UUID
    reason: str


@dataclass(slots=True, kw_only=True)
class Batch:
    """What some runs came to. `seen`: the ids by pattern, the newest first. `place` is None where there are no more."""

    seen: dict[str, list[UUID]] = field(default_factory=dict)
    looked_at: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    named: list[Named] = field(default_factory=list)
    place: Place | None = None

    @property
    def counted(self) -> int:
        """How many count."""
        return sum(map(len, self.seen.values()))


def scan(
    agent_key: str, *, after: Place | None = None, looked_at: int = 0
) -> Generator[Batch, None, None]:
    """Yield batch after batch behind `after`, of which `looked_at` runs were looked at before; the last has no `place`."""
    while True:
        batch, after = _scan_some(agent_key, after, limit=min(ROWS_AT_ONCE, MOST_RUNS - looked_at))
        looked_at += batch.looked_at
        batch.place = after if looked_at < MOST_RUNS else None
        yield batch
        if batch.place is None:
            return


def count_recent(agent_key: str) -> int:
    """Return how many runs there are to look at."""
    values: Values = {"agent": agent_key, "days": WINDOW_DAYS, "limit": MOST_RUNS}
    with connection.cursor() as cursor:
        cursor.execute(COUNT, values)
        ((count,),) = cursor.fetchall()
    return int(count)


def why_not(recorded: Recorded) -> str:
    """Say why a run whose record is whole makes no part of a pattern, empty where it does."""
    calls = recorded.calls
    if recorded.ended.get("status") != RunStatus.ANSWERED:
        return UNDECIDED
    if any(True for _ in recorded.of_kind("approval.requested")):
        return HELD
    reasons = [_why_not_call(it) for it in calls]
    if any(reasons):
        return next(it for it in reasons if it)
    if not calls:
        return NO_CALLS
    return MANY_CALLS if len(calls) > MOST_CALLS else ""


def pattern_in(agent_key: str, recorded: Recorded) -> str:
    """Return the pattern that a run is of."""
    return pattern_of(agent_key, [it.name for it in recorded.calls])


def _scan_some(agent_key: str, after: Place | None, *, limit: int) -> tuple[Batch, Place | None]:
    batch = Batch()
    with one_moment():
        rows = _rows(agent_key, after, limit=limit)
        refs: list[Ref] = []
        for row in rows:
            reason = _why_not_row(row)
            if reason:
                batch.skipped[reason] += 1
            else:
                refs.append(Ref(row.run_id, row.correlation_id))
        patterns = {run: pattern for run, pattern in _read(agent_key, refs, batch) if pattern}
    for ref in refs:
        if ref.run_id in patterns:
            batch.seen.setdefault(patterns[ref.run_id], []).append(ref.run_id)
    batch.looked_at = len(rows)
    is_last = len(rows) < limit
    place = None if is_last else Place(at=rows[-1].at.isoformat(), run_id=str(rows[-1].run_id))
    return batch, place


def _read(agent_key: str, refs: Sequence[Ref], batch: Batch) -> Iterator[tuple[UUID, str]]:
    for it in read_recorded(refs, most_events=MOST_EVENTS) if refs else ():
        if isinstance(it, Unusable):
            batch.skipped[it.reason] += 1
            batch.named.append(Named(run_id=it.run_id, reason=str(it)))
            continue
        reason = why_not(it)
        if reason:
            batch.skipped[reason] += 1
        else:
            yield it.run_id, pattern_in(agent_key, it)


@dataclass(frozen=True, slots=True)
class _Row:
    run_id: UUID
    correlation_id: UUID
    at: datetime
    status: str
    recording: str
    loop: str
    workflow: str
    is_root: bool


def _rows(agent_key: str, after: Place | None, *, limit: int) -> list[_Row]:
    values: Values = {"agent": agent_key, "days": WINDOW_DAYS, "limit": limit}
    if after is not None:
        values |= {"at": after.at, "id": after.run_id}
    statement = FIRST + (BEHIND if after is not None else "") + ORDER
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return [_Row(*it) for it in cursor.fetchall()]


def _why_not_row(row: _Row) -> str:
    if not row.is_root or row.loop != ROOT_LOOP:
        return PART
    if row.workflow:
        return OF_WORKFLOW
    if row.status not in ENDED:
        return GOES_ON
    if row.status != RunStatus.ANSWERED:
        return NOT_ANSWERED
    return "" if row.recording == Recording.FULL else METADATA


def _why_not_call(call: RecordedCall) -> str:
    if call.approval or call.posture == "held":
        return HELD
    if call.fate != "done":
        return FATES.get(call.fate, FATES["unknown"])
    return "" if call.posture == LET_THROUGH else FATES["refused"]
