"""A held write three deep: wherever on its way a person stops a run of the family, all of it that should end does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from liyagent.approvals.models import Approval
from liyagent.core.database import hot_pool
from runs import hot
from runs.errors import RunEnded
from runs.models import ENDED, Run
from runs.stop import stop_run
from tests.unit.approvals.deciding import approve, let_decide
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.delegating.conftest import Cast, hands

pytestmark = [pytest.mark.timeout(300)]

MOST_MOMENTS = 200
HOLD_THE_LOWEST = (
    "UPDATE agents_agent SET write_posture = 'hold', may_wait = true WHERE key = 'fixer'"
)
MADE = "SELECT count(*) FROM runs_call WHERE correlation_id = %s AND server = 'v' AND fate = 'done'"


class Moments:
    """The hot pool; `act` is done once, after the commit of the `number`-th hot function."""

    def __init__(self, number: int, *, act: Callable[[], None]) -> None:
        self.left = number
        self.act = act

    def as_pool(self) -> Moments:
        """Return itself, in the place of the process's pool."""
        return self

    def getconn(self) -> Any:
        return _Counted(hot_pool().getconn(), self)

    def putconn(self, counted: _Counted) -> None:
        hot_pool().putconn(counted.real)

    def passed(self, sql: str) -> None:
        if "FROM liyagent_" in sql:
            self.left -= 1
            if self.left == 0:
                self.act()


class _Counted:
    def __init__(self, real: Any, moments: Moments) -> None:
        self.real = real
        self.moments = moments

    def execute(self, sql: str, *values: Any, **more: Any) -> Any:
        cursor = self.real.execute(sql, *values, **more)
        self.moments.passed(sql)
        return cursor

    def execute_meanwhile(self, sql: str, *values: Any) -> Any:
        rows = self.real.execute_meanwhile(sql, *values)
        self.moments.passed(sql)
        return rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


def stop(agent: str, root: Run) -> None:
    """A person stops the run of this agent, if there is one that has not ended."""
    for run in Run.objects.filter(correlation_id=root.correlation_id, agent_key=agent):
        with suppress(RunEnded):
            stop_run(run_id=run.id, actor="op", reason="enough")


def decide(root: Run) -> None:
    for request in Approval.objects.filter(status="pending", correlation_id=root.correlation_id):
        approve(request)


def carry_to_the_end(world: World, root: Run) -> None:
    """Carry whatever is queued, and decide whatever waits, until nothing is left of either."""
    for number in range(40):
        taken = (process := world.process(f"p{number}")).take()
        for run_id, attempt in taken:
            process.go_on(run_id, attempt)
        if taken or Run.objects.filter(status="queued"):
            continue
        if not Approval.objects.filter(status="pending", correlation_id=root.correlation_id):
            return
        decide(root)
    raise AssertionError("it goes on for ever")


@pytest.mark.promise("CR-02")
@pytest.mark.promise("CR-26")
@pytest.mark.parametrize("agent", ["triage", "reader", "fixer"])
def test_a_family_that_is_stopped_at_any_moment_ends_and_writes_once_at_most(
    world: World, cast: Cast, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    let_decide("olga")
    world.sql(HOLD_THE_LOWEST)
    cast.lists = {
        "triage": [hands("reader"), says("told")],
        "reader": [hands("fixer"), says("told on")],
        "fixer": [calls(("v/blind", {"n": 1})), says("done")],
    }
    for number in range(1, MOST_MOMENTS):
        root = world.start(*cast.lists["triage"])
        moments = Moments(number, act=partial(stop, agent, root))
        monkeypatch.setattr(hot, "hot_pool", moments.as_pool)
        before = len(world.vendor.rows)
        carry_to_the_end(world, root)
        family = Run.objects.filter(correlation_id=root.correlation_id)
        stands = number, [(it.agent_key, it.status, it.reason) for it in family]
        assert all(it.status in ENDED for it in family), stands
        made = world.sql(MADE, root.correlation_id)[0][0]
        assert len(world.vendor.rows) - before == made <= 1, stands
        asked = Approval.objects.filter(correlation_id=root.correlation_id)
        assert not {it.status for it in asked} & {"pending", "approved"}, stands
        if moments.left > 0:
            return
    raise AssertionError("more moments than were looked at")
