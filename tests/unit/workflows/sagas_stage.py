"""Where drawn runs are carried: a vendor that fails in many ways, processes that die and stall, and people."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from liyagent.agents.models import Agent
from liyagent.core.database import hot_pool
from liyagent.gateway.local import ToolFailed
from liyagent.workflows.start import start_workflow
from runs import hot
from runs.errors import LostLease
from runs.models import Call, Run
from runs.start import start_run
from tests.unit.approvals.deciding import CutPool
from tests.unit.runs.carrying.conftest import Process
from tests.unit.runs.carrying.vendor import Killed
from tests.unit.workflows.conftest import Works
from tests.unit.workflows.sagas_drawn import Drawn

READS = ("look", "find")
FAULTS = (
    "fails", "breaks_before", "breaks_after", "dies_before", "dies_after", "stalls_before", "stalls_after",
)  # fmt: skip
BUMP = "UPDATE agents_configversion SET version = version + 1"
OPEN = "mission = %s AND ended_at IS NULL"
Act = Callable[[], None]


class CutAt(CutPool):
    """As `CutPool`, at the `nth` time, and at a step that is written while something else is done."""

    def __init__(self, function: str, *, nth: int, is_after: bool, act: Act) -> None:
        super().__init__(function, is_after=is_after, act=act)
        self.left = nth

    def getconn(self) -> Any:
        return _Watched(hot_pool().getconn(), self)

    def reached(self, sql: str, *, is_after: bool) -> None:
        if self.function in sql and is_after is self.is_after and not self.has_acted:
            if self.left:
                self.left -= 1
                return
            super().reached(sql, is_after=is_after)


class _Watched:
    def __init__(self, real: Any, pool: CutAt) -> None:
        self.real, self.pool = real, pool

    def execute(self, sql: str, *values: Any, **more: Any) -> Any:
        self.pool.reached(sql, is_after=False)
        cursor = self.real.execute(sql, *values, **more)
        self.pool.reached(sql, is_after=True)
        return cursor

    def execute_meanwhile(self, sql: str, *values: Any, **more: Any) -> Any:
        self.pool.reached(sql, is_after=False)
        rows = self.real.execute_meanwhile(sql, *values, **more)
        self.pool.reached(sql, is_after=True)
        return rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


@dataclass(slots=True)
class Stage:
    """One example: all that it starts bears its `mission`.

    `made` says which run made each row of the ledger, `late` are rows that came after another process had taken over;
    `lies` are calls that a person said had happened and had not.
    """

    works: Works
    patch: pytest.MonkeyPatch
    mission: str = ""
    drawn: Drawn = field(default_factory=Drawn)
    faults: deque[str] = field(default_factory=deque)
    made: list[UUID] = field(default_factory=list)
    late: set[int] = field(default_factory=set)
    lies: set[int] = field(default_factory=set)
    dead: list[Process] = field(default_factory=list)
    _carrying: list[tuple[Process, UUID]] = field(default_factory=list)
    _faults_now: list[str] = field(default_factory=list)
    _numbers: int = 0

    @property
    def ledger(self) -> list[dict[str, Any]]:
        """What the vendor has stored."""
        return self.works.world.vendor.rows

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement as an operator would."""
        return self.works.world.sql(statement, *values)

    def begin(self, drawn: Drawn) -> None:
        """Start it, with a ledger that is empty."""
        self._numbers += 1
        self.mission, self.drawn = f"saga-{self._numbers}", drawn
        for kept in (self.faults, self.made, self.late, self.lies, self.dead):
            kept.clear()
        vendor = self.works.world.vendor
        vendor.rows.clear()
        vendor.received.clear()
        vendor.before_effect, vendor.after_effect = self._before, self._after
        Agent.objects.filter(key="triage").update(compensations=drawn.map)
        self.allow()
        known: dict[str, Any] = {
            "entry": "api",
            "started_by": "",
            "mission": self.mission,
            "request_id": "",
        }
        if drawn.steps:
            self.works.save(*drawn.steps, **drawn.facts)
            start_workflow(key="work", given={}, **known)
        else:
            self.works.world.model.steps = list(drawn.answers)
            start_run(agent_key="triage", task="look after it", **known)

    def runs(self) -> list[Run]:
        """Return all runs of the example, the oldest first."""
        return list(Run.objects.filter(mission=self.mission).order_by("id"))

    def agent(self, **columns: Any) -> None:
        """Change what the agent may, for all processes at once."""
        Agent.objects.filter(key="triage").update(**columns)
        self.sql(BUMP)

    def allow(self) -> None:
        """Let the agent do all that it could at first."""
        self.agent(write_posture="allow", tool_patterns=["v/*"], is_contained=False)

    def carry(self) -> None:
        """A process takes what is queued and carries it, one after the other, until it dies."""
        process = self.works.world.process()
        try:
            for run_id, attempt in process.take():
                self._carrying.append((process, run_id))
                try:
                    with suppress(LostLease):
                        process.go_on(run_id, attempt)
                finally:
                    self._carrying.pop()
        except Killed:
            self.dead.append(process)

    @contextmanager
    def cut(self, function: str, *, nth: int, is_after: bool, act: Act) -> Iterator[None]:
        """Do something once, before a hot statement is asked or after its commit."""
        pool = CutAt(function, nth=nth, is_after=is_after, act=act)
        with self.patch.context() as cutting:
            cutting.setattr(hot, "hot_pool", lambda: pool)
            yield

    def die(self) -> None:
        """The process that carries is gone."""
        raise Killed

    def stall(self) -> None:
        """The process that carries stops, its lease runs out, another takes over; then it goes on, and knows nothing."""
        process, _ = self._carrying[-1]
        self.works.world.lapse(process)
        self.carry()

    def bury(self, *, is_proven: bool) -> None:
        """What the dead left is found, by proof or because their leases ran out."""
        world = self.works.world
        for process in self.dead:
            if is_proven:
                world.prove_dead(process)
            world.lapse(process)
        self.dead.clear()

    def pass_time(self) -> None:
        """Nothing that was sent is on its way any more, and what rests has rested."""
        self.sql("UPDATE runs_call SET deadline = liyagent_now() WHERE deadline > liyagent_now()")
        self.sql(
            f"UPDATE runs_run SET settle_after = liyagent_now(), not_before = NULL WHERE {OPEN}",
            self.mission,
        )

    def _before(self, tool: str) -> None:
        if tool in READS:
            return
        fault = self.faults.popleft() if self.faults else ""
        if fault == "stalls_before":
            self.stall()
        elif fault.endswith("_before") or (fault == "fails" and not self._was_made()):
            _break(fault)
        self._faults_now.append(fault)

    def _was_made(self) -> bool:
        """Whether what is sent was made before: who knows its key says so, and not that it failed."""
        _, run_id = self._carrying[-1]
        sent = Call.objects.filter(run_id=run_id, fate="", intent="sending")
        keys = {it["key"] for it in self.ledger}
        return any(it in keys for it in sent.values_list("step_key", flat=True))

    def _after(self, tool: str) -> None:
        fault = self._faults_now.pop()
        if len(self.ledger) > len(self.made):
            self.made.append(self._carrying[-1][1])
            if fault == "stalls_before":
                self.late.add(len(self.ledger))
        if fault == "stalls_after":
            self.stall()
        elif fault.endswith("_after"):
            _break(fault)


def _break(fault: str) -> None:
    if fault == "fails":
        raise ToolFailed("locked by change freeze")
    if fault.startswith("dies"):
        raise Killed
    raise RuntimeError("reset by peer")
