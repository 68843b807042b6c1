"""Chains as they are stored, read in a stream: heads, what the rows of their runs say, and events, all of one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from psycopg.types.datetime import TimestamptzLoader

from events.completeness import RunFacts
from events.first_roots import FirstRoots
from events.models import PurgeCertificate

# An event can hold a million characters: so few rows are in memory at once.
EVENTS_AT_ONCE = 200
# A time that only whoever edits rows can write, and that no calendar of Python has, is none: no hash fits it.
STORED_AT = "CASE WHEN at BETWEEN '0001-01-02' AND '9999-12-30' THEN at ELSE 'epoch' END"
EVENTS = f"""
SELECT correlation_id, number, run_id, {STORED_AT}, kind, mission, recording, content, hash, tag FROM events_runevent
    WHERE correlation_id >= %s AND correlation_id <= %s AND number > %s ORDER BY correlation_id, number
"""  # noqa: S608 - a constant
# Whole chains one behind the other, and of none more than so many events. What has an order and a limit of its own inside is
# read for one chain after the other: nothing is sorted, however much they hold.
CHAINS = f"""
SELECT it.* FROM unnest(%s::uuid[]) AS chain, LATERAL (
    SELECT correlation_id, number, run_id, {STORED_AT}, kind, mission, recording, content, hash, tag FROM events_runevent
    WHERE correlation_id = chain ORDER BY number LIMIT %s) AS it
"""  # noqa: S608 - a constant
HEADS = """
SELECT correlation_id, count, hash, is_unsealed, sealed_count, sealed_in, seal, seal_key, untagged FROM events_eventhead
    WHERE correlation_id >= %s AND correlation_id <= %s ORDER BY correlation_id LIMIT %s
"""
HEADS_OF = """
SELECT correlation_id, count, hash, is_unsealed, sealed_count, sealed_in, seal, seal_key, untagged FROM events_eventhead
    WHERE correlation_id = ANY(%s)
"""


class EventRow(NamedTuple):
    """A stored event."""

    correlation_id: UUID
    number: int
    run_id: UUID
    at: datetime
    kind: str
    mission: str
    recording: str
    content: str
    hash: bytes
    tag: bytes


@dataclass(frozen=True, slots=True)
class HeadRow:
    """A stored head."""

    correlation_id: UUID
    count: int
    hash: bytes
    is_unsealed: bool
    sealed_count: int
    sealed_in: int | None
    seal: bytes
    seal_key: str
    untagged: int


# What the room that has the runs says of those in these chains, by chain: from the first to the last, both with. Empty where
# there is no such room: then no row says whether a run has ended.
Facts = Callable[[UUID, UUID], Mapping[UUID, Sequence[RunFacts]]]
FACTS: list[Facts] = []


@contextmanager
def one_moment() -> Iterator[None]:
    """Let all that is read inside be of one moment, in a transaction of its own that changes nothing."""
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


def read_heads(first: UUID, last: UUID, *, limit: int) -> list[HeadRow]:
    """Return the heads from one correlation id to another, in order, at most `limit`; `untagged` as far as it is believed."""
    return _heads(HEADS, [first, last, limit])


def read_heads_of(chains: Sequence[UUID]) -> list[HeadRow]:
    """Return the heads of these chains, in no order; `untagged` as far as it is believed."""
    return _heads(HEADS_OF, [list(chains)])


def _heads(statement: str, values: Sequence[Any]) -> list[HeadRow]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        heads = [HeadRow(*row) for row in cursor.fetchall()]
    roots = FirstRoots()
    return [it if not it.untagged else _believed(it, roots) for it in heads]


def _believed(head: HeadRow, roots: FirstRoots) -> HeadRow:
    chain, sealed_in = head.correlation_id, head.sealed_in
    return replace(head, untagged=roots.untagged(chain, told=head.untagged, sealed_in=sealed_in))


def read_head(correlation_id: UUID) -> HeadRow | None:
    """Return the head of a chain."""
    return next(iter(read_heads(correlation_id, correlation_id, limit=1)), None)


def read_facts(first: UUID, last: UUID) -> dict[UUID, list[RunFacts]]:
    """Return what is said of the runs of these chains, by chain."""
    found: dict[UUID, list[RunFacts]] = {}
    for facts_of in FACTS:
        for chain, facts in facts_of(first, last).items():
            found.setdefault(chain, []).extend(facts)
    return found


def purged_among(chains: Iterable[UUID]) -> dict[UUID, datetime]:
    """Return those of these chains that a certificate says were purged, with when."""
    rows = PurgeCertificate.objects.filter(correlation_id__in=list(chains))
    return dict(rows.values_list("correlation_id", "at"))


def stream_events(first: UUID, last: UUID, *, after: int = 0) -> Iterator[EventRow]:
    """Yield the events of these chains in order, those behind number `after`, never many at once. Inside `one_moment`."""
    return _stream(EVENTS, [first, last, after])


def stream_chains(chains: Sequence[UUID], *, most: int) -> Iterator[EventRow]:
    """Yield the events of one of these chains after the other, at most so many of each. Inside `one_moment`."""
    return _stream(CHAINS, [list(chains), most])


def _stream(statement: str, values: Sequence[Any]) -> Iterator[EventRow]:
    cursor: Any = connection.chunked_cursor()
    with cursor:
        # The driver's own, several times as quick as Django's, which sets a time zone: what is hashed is the moment.
        cursor.adapters.register_loader("timestamptz", TimestamptzLoader)
        cursor.execute(statement, values)
        while rows := cursor.fetchmany(EVENTS_AT_ONCE):
            for row in rows:
                yield EventRow._make(row)
