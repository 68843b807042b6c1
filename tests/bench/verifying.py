"""The record: a million events verified beside hashing them alone, and what a flush, a page and a list cost behind them."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.chain import event_hash, genesis_hash
from events.checking import Asked, Finding, Looked
from events.reading import one_moment, stream_events
from events.verify_chains import check_chains
from runs.evidence import evidence_of
from runs.evidence_api import evidence_told
from runs.evidence_list import logged_runs
from runs.evidence_serializers import EvidenceSerializer
from tests.bench.filling import WRITERS, write_chains
from tests.bench.flushing import Flusher
from tests.bench.telling import AGENT

EVENTS = 1_000_000
OF_A_RUN, OF_A_LONG_RUN = 20, 2_000
ROUNDS, FLUSHES = 7, 300
SHORT_BEFORE = 50
SIZE = (
    "SELECT pg_total_relation_size('events_runevent') + pg_total_relation_size('events_eventhead')"
)


def measure_verify(events: int) -> dict[str, Any]:
    """Fill the log with so many events; return what it costs to verify them, and to ask for one run in front of them."""
    url = settings.LIYAGENT.database_url
    with psycopg.connect(url, autocommit=True) as database:
        write_chains(url, 1, length=OF_A_LONG_RUN)
        chain, long_run = database.execute("SELECT correlation_id, id FROM runs_run").fetchall()[0]
        write_chains(url, SHORT_BEFORE, length=OF_A_RUN)
        few = _asked(database, long_run)
        began = time.monotonic()
        more = (events - OF_A_LONG_RUN) // OF_A_RUN - SHORT_BEFORE
        write_chains(url, more, length=OF_A_RUN, writers=WRITERS)
        filled = time.monotonic() - began
        database.execute("VACUUM ANALYZE events_runevent, events_eventhead, runs_run")
        many = _asked(database, long_run)
        megabytes = database.execute(SIZE).fetchall()[0][0] / 1e6
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, cpu = time.monotonic(), time.process_time()
    looked, broken = _verified()
    seconds, cpu_seconds = time.monotonic() - began, time.process_time() - cpu
    hash_seconds, hash_cpu = _hashing_alone(chain, looked.events)
    return {
        "events": looked.events,
        "chains": looked.chains,
        "broken": broken,
        "megabytes": megabytes,
        "filled_s": filled,
        "verify_s": seconds,
        "verify_cpu_s": cpu_seconds,
        "hash_s": hash_seconds,
        "hash_cpu_s": hash_cpu,
        "memory_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024,
        "few": few,
        "many": many,
    }


def _verified() -> tuple[Looked, int]:
    looked, broken = Looked(check="chains"), 0
    for it in check_chains(Asked()):
        if isinstance(it, Finding):
            # Of the chains that flushes were timed on no row is known: they lack what a row would tell.
            broken += it.is_break
        else:
            looked = it
    return looked, broken


def _hashing_alone(chain: UUID, events: int) -> tuple[float, float]:
    """Seconds, and seconds of CPU, to hash as many events from memory, and nothing else."""
    with one_moment():
        rows = list(stream_events(chain, chain))
    previous = genesis_hash(chain)
    began, cpu = time.monotonic(), time.process_time()
    for _ in range(events // len(rows)):
        for row in rows:
            previous = event_hash(
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
    return time.monotonic() - began, time.process_time() - cpu


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
    flusher = Flusher(database)
    flushes = [flusher.milliseconds() for _ in range(FLUSHES)]
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
