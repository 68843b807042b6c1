"""W1: runs of ten steps, one at a time and eight at a time, each cell beside a fresh floor."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, connections

from liyagent.core.database import close_hot_pool
from liyagent.leases.holding import register_holder
from liyagent.leases.identity import own_identity
from runs import hot
from runs.attempt import Carrier
from runs.checkpoint import keyring, load
from runs.loop import carry_run
from runs.models import Run
from runs.runner import FORMATS
from runs.start import start_run
from tests.bench.counts import Counter, Counts
from tests.bench.floor import run_floor
from tests.bench.world import STEPS, NoOpModel, agent_key

LONG_LEASE_SECONDS = 3600.0


class CellFailed(Exception):
    """A run of the bench did not end as it should: its figures say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One measuring of a cell or of its floor."""

    steps: int
    seconds: float
    step_seconds: list[float]
    counts: Counts

    @property
    def rate(self) -> float:
        """Steps a second."""
        return self.steps / self.seconds

    def quantile(self, share: float) -> float:
        """Return the step time that `share` of the steps stay below."""
        ordered = sorted(self.step_seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

    def with_more(self, other: Measured) -> Measured:
        """Return both as one, for a floor before and after its cell."""
        mine, theirs = asdict(self.counts), asdict(other.counts)
        return Measured(
            steps=self.steps + other.steps,
            seconds=self.seconds + other.seconds,
            step_seconds=self.step_seconds + other.step_seconds,
            counts=Counts(**{name: mine[name] + theirs[name] for name in mine}),
        )

    def as_json(self) -> dict[str, Any]:
        """Return it for the raw file, without each step's time."""
        return {
            "steps": self.steps,
            "seconds": self.seconds,
            "rate": self.rate,
            "p50_ms": self.quantile(0.5) * 1000,
            "p95_ms": self.quantile(0.95) * 1000,
            **{name: value / self.steps for name, value in asdict(self.counts).items()},
            "checkpoints": self.counts.checkpoints,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What is run: how many runs, how many at a time, with which tool, recorded how."""

    name: str
    tool: str
    recording: str
    runs: int
    threads: int


def measure_cell(cell: Cell, model: NoOpModel, counter: Counter) -> Measured:
    """Carry the cell's runs and return what it took, start and end of each run included."""
    model.asked.clear()
    holder = new_holder()
    started = hot.database_now(_never)
    before = counter.read()
    began = time.perf_counter()
    _carry_all(cell, holder)
    seconds = time.perf_counter() - began
    _end_sessions()
    counts = counter.read().since(before)
    ended = Run.objects.filter(
        status="answered", agent_key=_agent(cell), taken_at__gte=started
    ).count()
    connection.close()
    if ended < cell.runs:
        raise CellFailed(f"{cell.name}: {ended} of {cell.runs} runs were answered")
    return Measured(
        steps=cell.runs * STEPS, seconds=seconds, step_seconds=model.step_seconds(), counts=counts
    )


def measure_floor(cell: Cell, counter: Counter) -> Measured:
    """Insert as many rows as the cell has steps, over as many connections."""
    before = counter.read()
    steps = cell.runs * STEPS
    seconds, each = run_floor(settings.LIYAGENT.database_url, steps=steps, threads=cell.threads)
    return Measured(
        steps=len(each), seconds=seconds, step_seconds=each, counts=counter.read().since(before)
    )


def new_holder() -> UUID:
    """Register this process as a holder for longer than any cell takes."""
    return register_holder(
        own_identity(),
        name="bench",
        lease_seconds=LONG_LEASE_SECONDS,
        formats=FORMATS,
        key_ids=keyring().ids,
    )


def carry_some(cell: Cell, holder: UUID) -> None:
    """Carry a thread's share of the cell's runs, one after the other."""
    try:
        for _ in range(cell.runs // cell.threads):
            carry_agent(_agent(cell), holder)
    finally:
        connection.close()


def carry_agent(agent: str, holder: UUID) -> None:
    """Start a run of an agent, take it and carry it to its end."""
    start_run(
        agent_key=agent,
        task="Measure a step.",
        entry="bench",
        started_by="",
        mission="",
        request_id="",
    )
    taken: list[tuple[UUID, int]] = []
    while not taken:
        taken = hot.take(
            holder, again=0, fresh=1, formats=FORMATS, key_ids=keyring().ids, give_up=_never
        )
    ((run_id, attempt),) = taken
    carrier = Carrier(holder="bench", give_up=_never, hand_over=_never)
    carry_run(load(run_id, attempt=attempt, give_up=_never), carrier)


def _carry_all(cell: Cell, holder: UUID) -> None:
    workers = [
        threading.Thread(target=carry_some, args=(cell, holder)) for _ in range(cell.threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _agent(cell: Cell) -> str:
    return agent_key(cell.tool, cell.recording)


def _end_sessions() -> None:
    """A session tells its counts when it ends."""
    connections.close_all()
    close_hot_pool()
    time.sleep(0.3)


def _never() -> bool:
    return False
