"""The record: a million events verified beside hashing them alone, and what a flush, a page and a list cost behind them."""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain as chained
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.chain import event_hash, genesis_hash
from events.checking import Asked, Finding, Looked
from events.keys import tagging_key
from events.tags import SEPARATOR, Tagger
from events.verify_chains import check_chains
from liyagent.core.canonical import canonical
from liyagent.core.ids import new_id
from runs.evidence import evidence_of
from runs.evidence_api import evidence_told
from runs.evidence_list import logged_runs
from runs.evidence_serializers import EvidenceSerializer

EVENTS = 1_000_000
OF_A_RUN, OF_A_LONG_RUN = 20, 2_000
AGENT, MISSION, FULL = "recorded", "recorded", "full"
ROUNDS, FLUSHES = 7, 300
SHORT_BEFORE = 50
AT = datetime.now(UTC) - timedelta(days=1)
TEXT = os.urandom(150).hex()
COPY_EVENTS = "COPY events_runevent (correlation_id, number, run_id, at, kind, mission, recording, content, hash, tag) FROM STDIN"
COPY_HEADS = "COPY events_eventhead (correlation_id, count, hash) FROM STDIN"
ADD_RUN = """
    INSERT INTO runs_run (id, correlation_id, loop, agent_key, agent_version, entry, mission, request_id, started_by,
        recording, status, reason, format, key_id, attempt, losses, last_loss, handovers, resumes_recorded,
        sequence, wakes, events_missing, timeline, model_steps, calls_made, input_tokens, output_tokens, cost_micros, parts,
        seal, stop_requested, stopped_by, created_at, ended_at)
    VALUES (%s, %s, 'root', 'recorded', 1, 'bench', 'recorded', '', '', 'full', 'answered', '', 1, 'k', 1, 0, '', 0, 0, 1, 0, 0,
        1, %s, %s, %s, %s, 0, 2, '\\x00', false, '', %s, %s)
"""
APPEND = "SELECT liyagent_append_events(%s, %s, 'm', 'full', ARRAY['step', 'tool.call'], ARRAY['{}', '{}'])"
SIZE = (
    "SELECT pg_total_relation_size('events_runevent') + pg_total_relation_size('events_eventhead')"
)


class Row(NamedTuple):
    """An event as it is copied in."""

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


def measure_verify(events: int) -> dict[str, Any]:
    """Fill the log with so many events; return what it costs to verify them, and to ask for one run in front of them."""
    with psycopg.connect(settings.LIYAGENT.database_url, autocommit=True) as database:
        long_run = _fill(database, [OF_A_LONG_RUN])
        for _ in range(SHORT_BEFORE):
            _fill(database, [OF_A_RUN])
        few = _asked(database, long_run)
        began = time.monotonic()
        _fill(database, [OF_A_RUN] * ((events - OF_A_LONG_RUN) // OF_A_RUN - SHORT_BEFORE))
        filled = time.monotonic() - began
        database.execute("VACUUM ANALYZE events_runevent, events_eventhead, runs_run")
        many = _asked(database, long_run)
        megabytes = database.execute(SIZE).fetchall()[0][0] / 1e6
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    looked, broken = _verified()
    seconds = time.monotonic() - began
    return {
        "events": looked.events,
        "chains": looked.chains,
        "broken": broken,
        "megabytes": megabytes,
        "filled_s": filled,
        "verify_s": seconds,
        "hash_s": _hashing_alone(looked.events),
        "memory_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024,
        "few": few,
        "many": many,
    }


def _verified() -> tuple[Looked, int]:
    looked, broken = Looked(check="chains"), 0
    for it in check_chains(Asked()):
        if isinstance(it, Finding):
            # Of the chains that flushes were timed on no row is known: they lack an end.
            broken += it.is_break
        else:
            looked = it
    return looked, broken


def _hashing_alone(events: int) -> float:
    """Seconds to hash as many events from memory, and nothing else."""
    rows = list(_events(new_id(), new_id(), OF_A_RUN))
    previous = genesis_hash(rows[0].correlation_id)
    began = time.monotonic()
    for _ in range(events // OF_A_RUN):
        for it in rows:
            previous = _hash(it, previous)
    return time.monotonic() - began


def _asked(database: psycopg.Connection[Any], run_id: UUID) -> dict[str, Any]:
    """What a page of a long run, a list, and a flush cost: milliseconds, and how many statements."""

    def page() -> None:
        told = evidence_told(evidence_of(run_id, {"limit": "200"}), with_words=True)
        _ = EvidenceSerializer({**told, "next": None}).data

    def later() -> None:
        evidence_of(run_id, {"limit": "200", "cursor": cursor})

    def listed() -> None:
        logged_runs(AGENT, {"limit": "200"})

    cursor = evidence_of(run_id, {"limit": "200"}).next_cursor
    asked = {"page": page, "later_page": later, "list": listed}
    told: dict[str, Any] = {name: _timed(it) for name, it in asked.items()}
    head = new_id()
    database.execute(
        "INSERT INTO events_eventhead (correlation_id, count, hash) VALUES (%s, 0, %s)",
        [head, genesis_hash(head)],
    )
    flushes = [
        _seconds(lambda: database.execute(APPEND, [head, head])) * 1000 for _ in range(FLUSHES)
    ]
    # Its events bear no tag: it is no part of what is verified.
    database.execute(
        "UPDATE events_eventhead SET untagged = count WHERE correlation_id = %s", [head]
    )
    return {**told, "flush": {"ms": statistics.median(flushes)}}


def _timed(ask: Callable[[], None]) -> dict[str, float]:
    ask()
    with CaptureQueriesContext(connection) as queries:
        ask()
    return {
        "ms": statistics.median(_seconds(ask) * 1000 for _ in range(ROUNDS)),
        "statements": len(queries),
    }


def _seconds(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def _fill(database: psycopg.Connection[Any], lengths: list[int]) -> UUID:
    """Write runs of these many events as they would have been written, a thousand a transaction; the last one's id."""
    run = new_id()
    for first in range(0, len(lengths), 1000):
        written = []
        for length in lengths[first : first + 1000]:
            chain, run = new_id(), new_id()
            written.append((chain, run, list(_events(chain, run, length))))
        with database.transaction(), database.cursor() as cursor:
            with cursor.copy(COPY_EVENTS) as copy:
                for row in chained.from_iterable(rows for _, _, rows in written):
                    copy.write_row((*row[:8], row.hash, row.tag))
            with cursor.copy(COPY_HEADS) as copy:
                for chain, _, rows in written:
                    copy.write_row((chain, len(rows), rows[-1].hash))
            cursor.executemany(ADD_RUN, [_run(*it) for it in written])
    return run


def _run(chain: UUID, run: UUID, rows: list[Row]) -> tuple[Any, ...]:
    steps = _steps(len(rows))
    return run, chain, steps, steps - 1, steps * 250, steps * 250, AT, AT + timedelta(minutes=5)


def _steps(length: int) -> int:
    """A start, an end, and steps with a read each, the last without."""
    return (length - 1) // 2


def _events(chain: UUID, run: UUID, length: int) -> Iterator[Row]:
    tagger = Tagger(key=tagging_key(), correlation_id=chain, run_id=run, mission=MISSION, attempt=1)
    previous = genesis_hash(chain)
    for number, (kind, facts) in enumerate(_told(length), 1):
        content, _, tag = tagger.line(kind, canonical(facts).decode()).partition(SEPARATOR)
        row = Row(
            chain, number, run, AT + timedelta(milliseconds=number), kind, MISSION, FULL, content, b"", bytes.fromhex(tag),
        )  # fmt: skip
        previous = _hash(row, previous)
        yield row._replace(hash=previous)


def _hash(row: Row, previous: bytes) -> bytes:
    return event_hash(
        previous,
        correlation_id=row.correlation_id,
        number=row.number,
        run_id=row.run_id,
        at=row.at,
        kind=row.kind,
        mission=row.mission,
        recording=row.recording,
        content=row.content,
    )


def _told(length: int) -> Iterator[tuple[str, dict[str, Any]]]:
    steps = _steps(length)
    counted = {"input_tokens": 250, "output_tokens": 250, "cost_micros": 0}
    yield (
        "run.started",
        {
            "agent": AGENT,
            "version": 1,
            "entry": "bench",
            "started_by": "",
            "holder": "",
            "task": TEXT,
        },
    )
    for step in range(1, steps + 1):
        calls = ["bench/look"] if step < steps else []
        yield "step", {"step": step, "finish": "calls", **counted, "calls": calls, "text": TEXT}
        if calls:
            yield "tool.call", _call(step)
    if length % 2 == 0:
        yield "run.handed_over", {"holder": ""}
    ended = {
        "steps": steps,
        "calls": steps - 1,
        **{name: it * steps for name, it in counted.items()},
    }
    yield (
        "run.ended",
        {"status": "answered", "reason": "", "error": "", **ended, "unsettled": [], "answer": TEXT},
    )


def _call(step: int) -> dict[str, Any]:
    place = {"step": step, "index": 0, "server": "bench", "tool": "look", "effect": "read"}
    authority = {"fate": "done", "posture": "posture", "gate": "", "policy": "0" * 64, "key": ""}
    return {**place, **authority, "settlement": "", "ms": 1, "args": {}, "result": TEXT}
