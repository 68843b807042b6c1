"""Sagas: 100 failed runs with 5 undos each, undone by two processes at once, against 500 plain writes by the same two."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import IO, Any
from uuid import UUID

from django.db import connection

from liyagent.core.database import close_hot_pool
from liyagent.demo.vendors.process import ROOT
from runs.models import Run
from runs.start import start_run
from sagas.models import Saga
from tests.bench.counts import Counter
from tests.bench.saga_process import carry
from tests.bench.saga_world import ANSWERING, FAILING, NOTES, provide, store
from tests.bench.steps import CellFailed, new_holder

RUNS, ROUNDS, PROCESSES = 100, 3, 2
WARM_UP_RUNS, COUNTED_RUNS = 20, 40
SESSIONS_END_SECONDS = 0.3
Process = subprocess.Popen[str]


def measure_sagas(counter: Counter) -> dict[str, Any]:
    """Return each round's rates, and what an undo and a write cost one process alone in statements and synced commits."""
    store()
    provide()
    holder = new_holder()
    with ExitStack() as stack:
        processes = [stack.enter_context(_process()) for _ in range(PROCESSES)]
        _both(processes, WARM_UP_RUNS, holder)
        counts = _both(processes[:1], COUNTED_RUNS, holder, counter=counter)
        rounds = []
        for _ in range(ROUNDS):
            rounds.append(_both(processes, RUNS, holder))
            told = {name: round(it["rate"]) for name, it in rounds[-1].items()}
            sys.stderr.write(f"sagas: {told} a second\n")
    return {"runs": RUNS, "undos": RUNS * NOTES, "rounds": rounds, "counts": counts}


def _both(
    processes: Sequence[Process], runs: int, holder: UUID, *, counter: Counter | None = None
) -> dict[str, dict[str, float]]:
    """Measure undos, then plain writes, each all queued before."""
    before = Saga.objects.filter(status="compensated").count()
    _start(FAILING, runs)
    # They fail here, unmeasured; a run that undoes is queued behind each.
    if carry(holder, most=runs) != runs or Run.objects.filter(status="queued").count() != runs:
        raise CellFailed(f"sagas: not each of {runs} runs failed")
    undos = _measured(processes, "unjot", runs * NOTES, counter)
    if Saga.objects.filter(status="compensated").count() - before != runs:
        raise CellFailed(f"sagas: not each of {runs} was compensated")
    _start(ANSWERING, runs)
    writes = _measured(processes, "jot", runs * NOTES, counter)
    return {"undos": undos, "writes": writes}


def _measured(
    processes: Sequence[Process], tool: str, wanted: int, counter: Counter | None
) -> dict[str, float]:
    """Let the processes carry what is queued; by their ledgers each call was made once."""
    connection.close()
    close_hot_pool()
    time.sleep(SESSIONS_END_SECONDS)
    before = counter.read() if counter else None
    for it in processes:
        _pipe(it.stdin).write("carry\n")
        _pipe(it.stdin).flush()
    told = [json.loads(_pipe(it.stdout).readline()) for it in processes]
    time.sleep(SESSIONS_END_SECONDS)
    counts = asdict(counter.read().since(before)) if counter and before else {}
    made = [key for it in told for key in it["made"][tool]]
    if len(made) != len(set(made)) or len(made) != wanted:
        raise CellFailed(
            f"sagas: {len(made)} calls with {len(set(made))} keys; {wanted} are wanted"
        )
    seconds = max(it["ended"] for it in told) - min(it["began"] for it in told)
    of_each = {name: value / wanted for name, value in counts.items()}
    return {"made": len(made), "seconds": seconds, "rate": wanted / seconds, **of_each}


def _start(agent: str, runs: int) -> None:
    for _ in range(runs):
        start_run(
            agent_key=agent,
            task="Jot down.",
            entry="bench",
            started_by="",
            mission="",
            request_id="",
        )


@contextmanager
def _process() -> Iterator[Process]:
    command = [sys.executable, "-m", "tests.bench.saga_process"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe) as process:
        _pipe(process.stdout).readline()
        try:
            yield process
        finally:
            _pipe(process.stdin).close()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise CellFailed("sagas: a process has no pipe")
    return pipe
