"""What a mission's timeline tells of the events of its runs: their facts, never their words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import DataError, OperationalError, connection

from events.content import content_of
from events.reading import STORED_AT
from events.words import FACTS
from liyagent.access.permissions import VIEW_RUN
from liyagent.core.paging import bad_cursor
from missions.places import number_in, place_of, read_place
from missions.timeline import Entry, Source, register

LONGEST_FACT = 500
# What is short is read as it stands; of what is long the facts alone, which are cut in the database.
SHORT = 4000
CUT = """CASE WHEN length(content) <= %(short)s THEN content ELSE (SELECT jsonb_object_agg(key, CASE WHEN length(value::text) <= %(longest)s
        THEN value ELSE to_jsonb(left(value::text, %(longest)s)) END)
        FROM jsonb_each(content::jsonb) WHERE key = ANY(%(facts)s))::text END"""
# Where one was edited so that it is no JSON any more, or is nested too deeply.
SHORT_ALONE = "CASE WHEN length(content) <= %(short)s THEN content ELSE '' END"
COLUMNS = f"SELECT correlation_id, number, run_id, {STORED_AT}, kind, mission, {{content}} FROM events_runevent"  # noqa: S608 - constants
# Of a named mission by an index of its own (`events_of_named_mission`), of an unnamed one by its chain.
NAMED = f"""{COLUMNS} WHERE mission = %(mission)s AND mission <> correlation_id::text AND at > 'epoch'
    AND (at, correlation_id, number) < (%(at)s, %(chain)s, %(number)s)
    ORDER BY at DESC, correlation_id DESC, number DESC LIMIT %(limit)s
"""
UNNAMED = f"""{COLUMNS} WHERE correlation_id = %(own)s AND mission = %(mission)s AND number < %(below)s
    ORDER BY number DESC LIMIT %(limit)s
"""
# Before anything is told: after every event there can be.
LAST = (1 << 63) - 1
TOP = (datetime(9999, 1, 1, tzinfo=UTC), UUID(int=(1 << 128) - 1), LAST)


def events_of(mission: str, before: str, limit: int) -> list[Entry]:
    """Return the events of a mission, the newest first.

    The id of an unnamed mission is its chain's own; a later run that names it has a chain of its own. So an id may have
    both, and a place is two: of the chains that name it, and of the one that bears it.
    """
    named, own = _read(before)
    values = {
        "mission": mission,
        "facts": sorted(FACTS),
        "short": SHORT,
        "longest": LONGEST_FACT,
        "limit": limit,
    }
    rows = _rows(NAMED, {**values, "at": named[0], "chain": named[1], "number": named[2]})
    chain = _chain(mission)
    if chain is not None:
        rows += _rows(UNNAMED, {**values, "own": chain, "below": own})
    entries: list[Entry] = []
    for row in sorted(rows, key=lambda it: (it[3], it[0], it[1]), reverse=True)[:limit]:
        correlation_id, number, _, at, *_ = row
        if correlation_id == chain:
            own = number
        else:
            named = (at, correlation_id, number)
        entries.append(_entry(row, place=_place(named, own)))
    return entries


def _entry(row: tuple[Any, ...], *, place: str) -> Entry:
    correlation_id, number, run_id, at, kind, _, content = row
    facts = {name: _cut(it) for name, it in content_of(content or "").items() if name in FACTS}
    about = f"{facts['server']}/{facts['tool']}" if {"server", "tool"} <= facts.keys() else ""
    fate = facts.get("fate") or facts.get("decision") or facts.get("status") or ""
    return Entry(
        at=at,
        place=place,
        kind=kind,
        told=": ".join(str(it) for it in (kind, about, fate) if it),
        run_id=run_id,
        facts={"correlation_id": str(correlation_id), "number": number, **facts},
    )


def _cut(value: Any) -> Any:
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= LONGEST_FACT else text[:LONGEST_FACT]


def _place(named: tuple[datetime, UUID, int], own: int) -> str:
    return f"{place_of(named[0], named[1])}-{named[2]}-{own}"


def _read(place: str) -> tuple[tuple[datetime, UUID, int], int]:
    if not place:
        return TOP, LAST
    parts = place.rsplit("-", 2)
    if len(parts) != 3:
        raise bad_cursor()
    return (*read_place(parts[0]), number_in(parts[1])), number_in(parts[2])


def _chain(mission: str) -> UUID | None:
    """The chain whose own id a mission may be: written as we write ids, it can be one."""
    try:
        found = UUID(mission)
    except ValueError:
        return None
    return found if str(found) == mission else None


def _rows(statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    try:
        return _read_rows(statement.format(content=CUT), values)
    except (DataError, OperationalError):
        return _read_rows(statement.format(content=SHORT_ALONE), values)


def _read_rows(statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


register(Source(name="events", needs=VIEW_RUN, entries=events_of))
