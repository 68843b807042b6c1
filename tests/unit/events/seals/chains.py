"""Chains of a test's own, written as runs write them, and edits that only the owner of the tables can make."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import connection

from events.chain import genesis_hash
from events.keys import tagger_of
from events.models import EventHead
from events.seal_heads import seal_now
from liyagent.core.canonical import canonical
from liyagent.core.ids import new_id

DAY_MS = 86_400_000
TABLES = ("events_runevent", "events_eventhead", "events_root", "events_identity")


def new_chain(events: int = 3, *, mission: str = "", is_ended: bool = True) -> UUID:
    """Write a run's events; return its id, which is its chain's."""
    chain = new_id()
    EventHead.objects.create(correlation_id=chain, hash=genesis_hash(chain))
    append(chain, events - is_ended, mission=mission)
    if is_ended:
        append(chain, 1, mission=mission, kind="run.ended", attempt=2)
    return chain


@contextmanager
def hours_ago(hours: float) -> Iterator[None]:
    """The database's clock says so; below nothing, it is ahead."""
    clock = (
        "CREATE OR REPLACE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql VOLATILE"
        " AS $$ SELECT clock_timestamp() - interval '{} hours' $$"
    )
    sql(clock.format(hours))
    try:
        yield
    finally:
        sql(clock.format(0))


def old_chain(days: int = 400) -> UUID:
    """A run that ended so long ago, sealed."""
    chain = UUID(int=new_id().int - (days * DAY_MS << 80))
    with hours_ago(days * 24):
        EventHead.objects.create(correlation_id=chain, hash=genesis_hash(chain))
        append(chain, 2)
        append(chain, 1, kind="run.ended", attempt=2)
        seal_now()
    return chain


def append(
    chain: UUID, events: int = 1, *, mission: str = "", kind: str = "step", attempt: int = 1
) -> None:
    """Append events as an attempt of the run does."""
    mission = mission or str(chain)
    tagger = tagger_of(correlation_id=chain, run_id=chain, mission=mission, attempt=attempt)
    lines = [
        tagger.line(kind, canonical({"step": index, "status": "answered"}).decode())
        for index in range(events)
    ]
    sql(
        "SELECT liyagent_append_events(%s, %s, %s, 'metadata', %s, %s)",
        chain, chain, mission, [kind] * events, lines,
    )  # fmt: skip


def sql(statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run a statement; return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


@contextmanager
def without_triggers() -> Iterator[None]:
    """As the owner can: take the triggers off, and put them back."""
    for table in TABLES:
        sql(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
    try:
        yield
    finally:
        for table in TABLES:
            sql(f"ALTER TABLE {table} ENABLE TRIGGER ALL")
