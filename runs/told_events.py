"""Events as the page of a run reads them: parsed, long words cut in the database, and never more than are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import DataError, OperationalError, connection

from events.content import content_of
from events.reading import STORED_AT
from runs.models import Run

# Of each word field this much is shown; it is cut in the database, so that a large result is never read whole.
LONGEST_WORDS = 4000
# No event of ours has so many fields; of what is cut here nothing can be told.
LONGEST_WHOLE = 200_000
LAST = 1 << 62
# From which event on the page's steps are told, and where the next page's begin. No content is read for it.
STEP_NUMBERS = """
SELECT number FROM events_runevent WHERE correlation_id = %s AND run_id = %s AND kind = 'step'
    ORDER BY number OFFSET %s LIMIT %s
"""
STEPS_BEFORE = """
SELECT count(*) FROM events_runevent WHERE correlation_id = %s AND run_id = %s AND kind = 'step' AND number <= %s
"""
# A short event is told as it stands; of a long one each long field is cut.
CUT = """CASE WHEN length(content) <= %(most)s THEN content ELSE left((SELECT jsonb_object_agg(key,
        CASE WHEN length(value::text) <= %(most)s THEN value ELSE jsonb_build_object(
            'cut', left(value #>> '{}', %(most)s), 'of', length(value #>> '{}')) END)
        FROM jsonb_each(content::jsonb))::text, %(whole)s) END"""
# Where one was edited so that it is no JSON any more, or is nested too deeply.
SHORT_ALONE = "CASE WHEN length(content) <= %(most)s THEN content ELSE '' END"
EVENTS = """
SELECT number, {at}, run_id, kind, {content} FROM events_runevent
    WHERE correlation_id = %(chain)s AND run_id = ANY(%(runs)s) AND number >= %(first)s AND number < %(last)s{more}
    ORDER BY number LIMIT %(limit)s
"""


class Told(NamedTuple):
    """One event. `content` is empty where what is stored is no object of ours."""

    number: int
    at: datetime
    run_id: UUID
    kind: str
    content: Mapping[str, Any]


class Window(NamedTuple):
    """The numbers of the chain that a page shows: from `first`, before `last`."""

    first: int
    last: int


def window_of(run: Run, page: int, *, steps: int) -> Window | None:
    """Return what a page of so many of the run's own steps covers, None where it has no event there."""
    with connection.cursor() as cursor:
        place: list[Any] = [run.correlation_id, run.id, (page - 1) * steps, steps + 1]
        cursor.execute(STEP_NUMBERS, place)
        numbers = [row[0] for row in cursor.fetchall()]
    if not numbers and page > 1:
        return None
    first = numbers[0] if page > 1 else 0
    return Window(first, numbers[steps] if len(numbers) > steps else LAST)


def page_with(run: Run, number: int, *, steps: int) -> int:
    """Return the page on which an event of the chain stands, or would."""
    with connection.cursor() as cursor:
        cursor.execute(STEPS_BEFORE, [run.correlation_id, run.id, min(number, LAST)])
        ((before,),) = cursor.fetchall()
    return max(1, -(-int(before) // steps))


def told_in(
    correlation_id: UUID, runs: Sequence[UUID], window: Window, *, limit: int, more: str = ""
) -> list[Told]:
    """Return events of these runs, in order, at most `limit`. `more`: a further condition of ours."""
    values = {
        "chain": correlation_id,
        "runs": list(runs),
        "first": window.first,
        "last": window.last,
        "limit": limit,
        "most": LONGEST_WORDS,
        "whole": LONGEST_WHOLE,
    }
    try:
        rows = _rows(EVENTS.format(at=STORED_AT, content=CUT, more=more), values)
    except (DataError, OperationalError):
        rows = _rows(EVENTS.format(at=STORED_AT, content=SHORT_ALONE, more=more), values)
    return [Told(row[0], row[1], row[2], row[3], content_of(row[4] or "")) for row in rows]


def _rows(query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
