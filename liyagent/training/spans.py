"""The time whose runs are looked at: from a day or moment up to another, by the database's clock."""

from __future__ import annotations

from datetime import UTC, datetime, time

from django.db import connection
from django.utils.dateparse import parse_date, parse_datetime

from liyagent.core.errors import BadInput

FIRST = datetime(2000, 1, 1, tzinfo=UTC)


def span_of(since: str, until: str) -> tuple[str, str]:
    """Return both ends in ISO 8601; by default all up to now. Raises `BadInput` that says what it wants."""
    begin = _moment(since, "since") or FIRST
    end = _moment(until, "until") or database_now()
    if begin >= end:
        raise BadInput(f"since ({begin.isoformat()}) is not before until ({end.isoformat()})")
    return begin.isoformat(), end.isoformat()


def database_now() -> datetime:
    """Return the database's time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT liyagent_now()")
        ((now,),) = cursor.fetchall()
    found: datetime = now
    return found


def _moment(text: str, name: str) -> datetime | None:
    if not text:
        return None
    try:
        day = parse_date(text)
        moment = datetime.combine(day, time(), tzinfo=UTC) if day else parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise BadInput(f"{name} wants a day such as 2026-11-01, or a moment such as 2026-11-01T08:00:00Z")  # fmt: skip
    return moment
