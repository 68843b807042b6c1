"""W2: one run of 200 model steps of 4 KB: does a step cost more the longer its run is?"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import psycopg
from django.conf import settings

from liyagent.providers.types import ModelRequest
from runs.models import Run
from tests.bench.furnished import PacedModel, add_agent
from tests.bench.steps import CellFailed, carry_agent, new_holder
from tests.bench.world import random_text

STEPS = 200
STEP_BYTES = 4000
# A step is its model's text and its read's 1 KB.
TEXT_BYTES = STEP_BYTES - 1000
# The figure of a step is the median of those around it.
AROUND = 5
SHOWN = (10, 50, 100, 200)
WARM_UP_STEPS = 30
LEFT = """
    SELECT sum(pg_total_relation_size(c.oid))::float8 FROM pg_class c
    WHERE c.relkind = 'r' AND c.relname = ANY (ARRAY['runs_run', 'runs_part', 'runs_call', 'events_runevent',
        'events_eventhead', 'transcripts_transcript', 'audit_auditrow'])
"""
INSERTED = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8"
TABLE = "CREATE TABLE IF NOT EXISTS bench_long_floor (id bigserial PRIMARY KEY, body text NOT NULL)"


@dataclass(slots=True)
class Ruler:
    """Reads the log's end each time the model is asked; its own time is in no step."""

    connection: psycopg.Connection
    asked: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    log_bytes: list[float] = field(default_factory=list)

    def look(self, _request: ModelRequest) -> None:
        """Take note of this moment."""
        self.asked.append(time.perf_counter())
        self.log_bytes.append(self.total())
        self.answered.append(time.perf_counter())

    def total(self) -> float:
        """Return the bytes that the log has grown to."""
        row = self.connection.execute(INSERTED).fetchone()
        assert row is not None
        return float(row[0])

    def left(self) -> float:
        """Return the bytes that our tables take, indexes and all."""
        row = self.connection.execute(LEFT).fetchone()
        assert row is not None
        return float(row[0])


def measure_long_run(recording: str) -> dict[str, Any]:
    """Carry the run; return time and log of its steps, and what was logged and left in all, beside a floor."""
    with psycopg.connect(settings.LIYAGENT.database_url, autocommit=True) as connection:
        floor = _floor(connection)
        _carry(connection, f"long-warm-{recording}", recording=recording, steps=WARM_UP_STEPS)
        ruler, began, left_before = _carry(
            connection, f"long-{recording}", recording=recording, steps=STEPS
        )
        # From the answer of one question to the next question: one step.
        seconds = [
            asked - answered
            for answered, asked in zip(ruler.answered, ruler.asked[1:], strict=False)
        ]
        logged = [
            later - earlier
            for earlier, later in zip(ruler.log_bytes, ruler.log_bytes[1:], strict=False)
        ]
        return {
            "recording": recording,
            "step_ms": {at: _around(seconds, at) * 1000 for at in SHOWN},
            "step_kb": {at: _around(logged, at) / 1000 for at in SHOWN},
            "logged_mb": (ruler.total() - began) / 1e6,
            "left_mb": (ruler.left() - left_before) / 1e6,
            "floor_mb": floor / 1e6,
        }


def _around(values: list[float], step: int) -> float:
    return statistics.median(values[max(0, step - AROUND) : step])


def _carry(
    connection: psycopg.Connection, key: str, *, recording: str, steps: int
) -> tuple[Ruler, float, float]:
    ruler = Ruler(connection)
    began, left = ruler.total(), ruler.left()
    model = PacedModel(steps=steps, text_bytes=TEXT_BYTES, on_ask=ruler.look)
    add_agent(key, model, recording=recording)
    carry_agent(key, new_holder())
    if Run.objects.filter(status="answered", agent_key=key, model_steps=steps + 1).count() != 1:
        raise CellFailed(f"W2 {recording}: the run was not answered after {steps} steps")
    return ruler, began, left


def _floor(connection: psycopg.Connection) -> float:
    """As many rows of a step's size as the run has steps; the bytes logged."""
    connection.execute(TABLE)
    before = Ruler(connection).total()
    for _ in range(STEPS):
        connection.execute(
            "INSERT INTO bench_long_floor (body) VALUES (%s)", [random_text(STEP_BYTES)]
        )
    return Ruler(connection).total() - before
