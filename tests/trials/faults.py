"""The faults themselves. Each strikes once and says when it did, whom it hit and what was in doubt."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import psutil

from tests.trials.plan import Fault, Plan
from tests.trials.stage import Stage, StageFailed
from tests.trials.watch import ENDED, OpenMark, Watch

STALL_SECONDS = 20.0
TERMINATE = """
    SELECT count(pg_terminate_backend(pid)) AS ended FROM pg_stat_activity
    WHERE client_port = ANY(%s) AND backend_type = 'client backend'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """`at` is the wall clock at the fault; `hit` the runs that A held (all, where the database died)."""

    at: float
    hit: frozenset[str]
    caught: tuple[OpenMark, ...]


def strike(stage: Stage, plan: Plan, watch: Watch, runs: Sequence[UUID]) -> Struck:
    """Let the fault happen, and put a fresh process where one was ended."""
    holders = (
        watch.holders_in(stage.namespace("A")) if stage.apart else watch.holders_of(stage.pid("A"))
    )
    if not holders:
        raise StageFailed("A is no holder")
    return FAULTS[plan.fault](stage, plan, watch, runs, holders)


def _kill(
    stage: Stage, plan: Plan, watch: Watch, runs: Sequence[UUID], holders: set[UUID]
) -> Struck:
    at = time.time()
    stage.signal("A", signal.SIGKILL)
    # What a mark says after the kill is what its process left.
    struck = _struck(watch, runs, holders, at=at)
    stage.wait_gone("A")
    stage.start("A")
    return struck


def _stall(
    stage: Stage, plan: Plan, watch: Watch, runs: Sequence[UUID], holders: set[UUID]
) -> Struck:
    at = time.time()
    stage.signal("A", signal.SIGSTOP)
    return _struck(watch, runs, holders, at=at)


def _kill_database(
    stage: Stage, plan: Plan, watch: Watch, runs: Sequence[UUID], holders: set[UUID]
) -> Struck:
    struck = _struck(watch, runs, None, at=time.time())
    postmaster = stage.cluster.pid
    if postmaster is None:
        raise StageFailed("the database died by itself")
    os.kill(postmaster, signal.SIGKILL)
    time.sleep(plan.away_seconds)
    stage.cluster.revive()
    return struck


def _terminate(
    stage: Stage, plan: Plan, watch: Watch, runs: Sequence[UUID], holders: set[UUID]
) -> Struck:
    at = time.time()
    stage.signal("A", signal.SIGTERM)
    hit = _held(watch, runs, holders)
    # Marks that are still open when A has handed over were cut; those before may yet be settled by A.
    stage.wait_gone("A")
    stage.start("A")
    return Struck(at=at, hit=hit, caught=())


def _cut_connections(
    stage: Stage, plan: Plan, watch: Watch, runs: Sequence[UUID], holders: set[UUID]
) -> Struck:
    ports = _ports_to(stage.cluster.port, stage.pid("A"))
    struck = _struck(watch, runs, holders, at=time.time())
    (row,) = watch.rows(TERMINATE, [ports])
    if not row["ended"]:
        raise StageFailed("A had no connection to cut")
    return struck


FAULTS: dict[Fault, Callable[[Stage, Plan, Watch, Sequence[UUID], set[UUID]], Struck]] = {
    Fault.KILL: _kill,
    Fault.STALL: _stall,
    Fault.DATABASE: _kill_database,
    Fault.TERM: _terminate,
    Fault.CONNECTIONS: _cut_connections,
    Fault.HOST: _kill,
}


def _struck(watch: Watch, runs: Sequence[UUID], holders: set[UUID] | None, *, at: float) -> Struck:
    marks = watch.open_marks(runs, holders=holders)
    return Struck(at=at, hit=_held(watch, runs, holders), caught=tuple(marks))


def _held(watch: Watch, runs: Sequence[UUID], holders: set[UUID] | None) -> frozenset[str]:
    """The runs that A held, or was about to take; where the database dies, all that had not ended."""
    return frozenset(
        str(row["id"])
        for row in watch.runs(runs)
        if row["status"] not in ENDED and (holders is None or row["holder"] in holders)
    )


def _ports_to(server_port: int | None, pid: int) -> list[int]:
    """Return the local ports of a process's connections to the database."""
    return [
        it.laddr.port
        for it in psutil.Process(pid).net_connections(kind="tcp")
        if it.raddr and it.raddr.port == server_port
    ]
