"""One trial: runs on A, a fault at a seeded moment, the runs to their end, and what came of them by the ledgers."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import httpx2

from liyagent.demo.judge import KIND_OF_VENDOR, Kind, Request, Verdict, judge, read_requests
from liyagent.demo.vendors.process import VENDORS
from tests.trials.faults import STALL_SECONDS, Struck, strike
from tests.trials.plan import Fault, Plan
from tests.trials.scripts import AGENTS, WRITES
from tests.trials.stage import Stage, StageFailed
from tests.trials.watch import ENDED, IN_DOUBT, OpenMark, Row, Watch, run_shown, write_shown

RUNS_OF_AN_AGENT = 2
TASK = "File what has to be done about the disks of web-1 to web-12."
END_SECONDS = 75.0
LOOK_SECONDS = 0.1
QUICK_LOOK_SECONDS = 0.02
# A request that left before the fault may be received just after it.
UNDER_WAY_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Seconds from the fault to a hit run's next write, or end; `cause` is how its loss was seen, "" for none."""

    seconds: float
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What a trial came to. `recoveries` are those of the runs that were hit."""

    plan: Plan
    runs: tuple[UUID, ...]
    struck: Struck
    heads: tuple[Row, ...]
    calls: tuple[Row, ...]
    verdict: Verdict
    recoveries: tuple[Recovery, ...]

    @property
    def losses(self) -> int:
        """How many losses were charged over all runs."""
        return sum(row["losses"] for row in self.heads)

    @property
    def doubly_lost(self) -> list[str]:
        """Runs that were charged more than one loss: one fault costs one at the most (CR-13)."""
        return [str(row["id"]) for row in self.heads if row["losses"] > 1]

    @property
    def proven(self) -> list[str]:
        """Runs whose process was proven dead."""
        return [str(row["id"]) for row in self.heads if row["last_loss"] == "proof"]

    @property
    def caught(self) -> dict[Kind, int]:
        """How many writes were caught between mark and settle, by kind of tool."""
        return {kind: sum(it.kind is kind for it in self.struck.caught) for kind in Kind}


def play(stage: Stage, plan: Plan, watch: Watch) -> Played:
    """Play one trial to its end. Raises `StageFailed` where there was nothing to strike."""
    stage.wait_ready("A")
    stage.set_pace(plan.pace_ms)
    runs = start_runs(stage)
    if not plan.is_from_start:
        _wait_for_a_mark(watch, runs)
    time.sleep(plan.moment)
    struck = strike(stage, plan, watch, runs)
    until = time.monotonic() + END_SECONDS
    if plan.fault is Fault.STALL:
        _wait_until(struck.at + STALL_SECONDS)
        stage.signal("A", signal.SIGCONT)
    _wait_for_ends(watch, runs, until=until)
    for name in stage.processes:
        stage.pid(name)
    return look_back(stage, plan, watch, runs=runs, struck=struck)


def start_runs(stage: Stage) -> tuple[UUID, ...]:
    """Start the runs through A's API, the agents in turn."""
    started: list[UUID] = []
    headers = {"Authorization": f"Bearer {stage.token}"}
    with httpx2.Client(base_url=stage.url("A"), headers=headers, timeout=10) as client:
        for agent in [*AGENTS.values()] * RUNS_OF_AN_AGENT:
            answer = client.post(f"/api/agents/{agent}/runs", json={"task": TASK})
            if not answer.is_success:
                raise StageFailed(f"A refused a run: {answer.status_code} {answer.text[:300]}")
            started.append(UUID(answer.json()["id"]))
    return tuple(started)


def look_back(
    stage: Stage, plan: Plan, watch: Watch, *, runs: tuple[UUID, ...], struck: Struck
) -> Played:
    """Judge these runs from what is stored and what the vendors remember now."""
    heads, calls = watch.runs(runs), watch.calls(runs)
    if plan.fault is Fault.TERM:
        struck = replace(struck, caught=tuple(_cut(calls)))
    requests = requests_of(ledgers(stage), runs)
    verdict = judge(
        runs=[run_shown(it, asked=WRITES) for it in heads],
        writes=map(write_shown, calls),
        requests=requests[0],
    )
    return Played(
        plan=plan,
        runs=runs,
        struck=struck,
        heads=tuple(heads),
        calls=tuple(calls),
        verdict=verdict,
        recoveries=tuple(_recoveries(struck, heads, requests[1])),
    )


def ledgers(stage: Stage) -> dict[str, Any]:
    """Return everything that the vendors remember."""
    return {vendor: stage.vendors.ledger(vendor) for vendor in VENDORS}


def requests_of(
    found: Mapping[str, Any], runs: Sequence[UUID]
) -> tuple[list[Request], dict[str, list[float]]]:
    """Return the marked writes of these runs, and for each run when its writes were received."""
    wanted = {str(run) for run in runs}
    received: dict[str, list[float]] = {run: [] for run in wanted}
    kept: list[Request] = []
    for vendor, ledger in found.items():
        for row in ledger["requests"]:
            for request in read_requests({vendor: {"requests": [row]}}):
                run = request.marker.partition("/")[0]
                if run in wanted:
                    kept.append(request)
                    received[run].append(row["received_at"])
    return kept, received


def _recoveries(
    struck: Struck, heads: Sequence[Row], received: Mapping[str, list[float]]
) -> list[Recovery]:
    """How each run that was hit showed its first sign of life after the fault."""
    found = []
    for head in heads:
        run = str(head["id"])
        if run not in struck.hit:
            continue
        signs = [it for it in received[run] if it > struck.at + UNDER_WAY_SECONDS]
        if head["ended_at"] is not None:
            signs.append(head["ended_at"])
        if signs:
            cause = head["last_loss"] if head["losses"] else ""
            found.append(Recovery(seconds=min(signs) - struck.at, cause=cause))
    return found


def _cut(calls: Sequence[Row]) -> list[OpenMark]:
    """Writes that a drain cut: they were settled by whoever came after."""
    return [
        OpenMark(run_id=str(it["run_id"]), vendor=it["server"], step_key=it["step_key"])
        for it in calls
        if it["settlement"] in IN_DOUBT and it["server"] in KIND_OF_VENDOR
    ]


def _wait_for_a_mark(watch: Watch, runs: Sequence[UUID]) -> None:
    until = time.monotonic() + END_SECONDS
    while not watch.calls(runs) and time.monotonic() < until:
        time.sleep(QUICK_LOOK_SECONDS)


def _wait_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.time()))


def _wait_for_ends(watch: Watch, runs: Sequence[UUID], *, until: float) -> None:
    """Return when all runs have ended, or when the time is up: what has not ended then is lost."""
    while time.monotonic() < until:
        if all(row["status"] in ENDED for row in watch.runs(runs)):
            return
        time.sleep(LOOK_SECONDS)
