"""W4: hundreds of runs at once in one process, whose model takes its time: how near to the ideal?"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import psutil
import psycopg
from django.conf import settings
from django.db import connection

from runs.models import Run
from runs.runner import Runner
from runs.start import start_run
from runs.threads import LastingThread
from tests.bench.furnished import PacedModel, add_agent
from tests.bench.steps import CellFailed, new_holder

STEPS = 10
MODEL_SECONDS = 2.0
LOOK_SECONDS = 0.1
MOST_SECONDS = 300.0
SESSIONS = "SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database()"
WAIT_FOR_THREADS = 5.0


@dataclass(slots=True)
class Peak:
    """The most that was seen of memory, threads and database sessions."""

    memory_mb: float = 0.0
    threads: int = 0
    sessions: int = 0


def measure_many_runs(count: int) -> dict[str, Any]:
    """Queue `count` runs, then carry them all at once; return the rate against the ideal and what it took."""
    model = PacedModel(steps=STEPS, seconds=MODEL_SECONDS)
    key = f"many-{count}"
    add_agent(key, model, recording="metadata")
    for _ in range(count):
        start_run(
            agent_key=key,
            task="Wait much.",
            entry="bench",
            started_by="",
            mission="",
            request_id="",
        )
    connection.close()
    idle_mb = _memory_mb()
    peak = Peak()
    with psycopg.connect(settings.LIYAGENT.database_url, autocommit=True) as looking:
        seconds = _carry(key, count, looking, peak)
    ideal = (STEPS + 1) * MODEL_SECONDS
    return {
        "runs": count,
        "seconds": seconds,
        "ideal_seconds": ideal,
        "share_of_ideal": ideal / seconds,
        "runs_per_second": count / seconds,
        "asked_at_once": model.most_waiting,
        "memory_over_idle_mb": peak.memory_mb - idle_mb,
        "threads": peak.threads,
        "sessions": peak.sessions,
    }


def _carry(key: str, count: int, looking: psycopg.Connection, peak: Peak) -> float:
    with _slots(count):
        runner = Runner(new_holder(), name="bench")
        taking = LastingThread(
            "runner",
            runner.take_until_drained,
            is_ending=runner.draining.is_set,
            on_death=runner.draining.set,
        )
        began = time.perf_counter()
        taking.start()
        _wait_for(lambda: _left(looking, key) == 0, looking, peak)
        seconds = time.perf_counter() - began
        runner.drain(seconds=WAIT_FOR_THREADS)
        taking.join(timeout=WAIT_FOR_THREADS)
    answered = Run.objects.filter(agent_key=key, status="answered").count()
    connection.close()
    if answered != count:
        raise CellFailed(f"W4 {count}: {answered} runs were answered")
    return seconds


class _slots:  # noqa: N801 - used as a function is
    """The process's slots, widened for as long as this lasts."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __enter__(self) -> None:
        self.before = settings.LIYAGENT
        settings.LIYAGENT = replace(self.before, run_slots=self.count)

    def __exit__(self, *_: object) -> None:
        settings.LIYAGENT = self.before


def _left(looking: psycopg.Connection, key: str) -> int:
    row = looking.execute(
        "SELECT count(*)::int FROM runs_run WHERE agent_key = %s AND ended_at IS NULL", [key]
    ).fetchone()
    assert row is not None
    return int(row[0])


def _wait_for(is_done: Callable[[], bool], looking: psycopg.Connection, peak: Peak) -> None:
    until = time.monotonic() + MOST_SECONDS
    while not is_done():
        if time.monotonic() > until:
            raise CellFailed(f"W4: not all runs ended within {MOST_SECONDS:.0f} s")
        peak.memory_mb = max(peak.memory_mb, _memory_mb())
        peak.threads = max(peak.threads, threading.active_count())
        row = looking.execute(SESSIONS).fetchone()
        peak.sessions = max(peak.sessions, int(row[0]) if row else 0)
        time.sleep(LOOK_SECONDS)


def _memory_mb() -> float:
    return float(psutil.Process().memory_info().rss) / 1e6
