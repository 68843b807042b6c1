"""A process that is configured to send its spans to a collector."""

from __future__ import annotations

import atexit
import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.conf import settings

from liyagent.core.ids import new_id
from liyagent.core.traces_conf import TracesConf
from liyagent.telemetry import sending, spans
from tests.fakes.collector import Collected, Collector


@dataclass(slots=True, kw_only=True)
class Told:
    """A run as far as spans tell of it."""

    id: UUID
    correlation_id: UUID
    parent_id: UUID | None = None
    mission: str = "incident-42"
    agent_key: str = "triage"
    attempt: int = 1
    recording: str = "metadata"
    created_at: datetime = datetime(2026, 11, 30, 9, tzinfo=UTC)


def a_run(**facts: object) -> Told:
    """A root run, of a mission that was named."""
    run_id = new_id()
    return dataclasses.replace(Told(id=run_id, correlation_id=run_id), **facts)  # type: ignore[arg-type]


@dataclass(slots=True)
class Traces:
    """What traces here, and the collector that it sends to."""

    collector: Collector
    conf: TracesConf

    @property
    def sending(self) -> sending.Sending:
        tracing = spans.tracing_of(self.conf)
        assert tracing is not None
        found: sending.Sending = tracing.sending  # type: ignore[attr-defined]
        return found

    def sent(self, most: int = 1) -> list[Collected]:
        """What has arrived, once it is so much."""
        until(lambda: len(self.collector.spans()) >= most)
        return self.collector.spans()


def until(holds: Callable[[], bool], *, seconds: float = 5) -> None:
    """Return once it holds."""
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up, f"not within {seconds} s"
        time.sleep(0.005)


@contextmanager
def traced(
    collector: Collector, conf: TracesConf, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Traces]:
    """Trace by `conf` until the block ends; what waits is sent at once."""
    monkeypatch.setattr(sending, "EVERY_SECONDS", 0.01)
    monkeypatch.setattr(sending, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(sending, "LONGEST_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(settings, "LIYAGENT", dataclasses.replace(settings.LIYAGENT, traces=conf))
    made = Traces(collector, conf)
    yield made
    made.sending.end(seconds=0)
    atexit.unregister(made.sending.end)
    spans._begun.pop(conf)
