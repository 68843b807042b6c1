"""Two at the same moment: one decision, one call, one event, and the other is told who decided (FL-53, FL-55)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg
import pytest

from events.models import RunEvent
from liyagent.approvals.decide import expire
from liyagent.approvals.errors import AlreadyDecided, ApprovalExpired, RunIsOver
from liyagent.approvals.models import Approval
from liyagent.core.errors import LiyagentError
from runs.models import Run
from tests.unit.approvals.crowd import add_requests, race
from tests.unit.approvals.deciding import approve, reject
from tests.unit.runs.carrying.conftest import World
from tests.unit.runs.sql import Fence, Server, add_holder, claim, finish, take_one

ROUNDS = 200
pytestmark = pytest.mark.usefixtures("world")


def olga_approves(request: Approval) -> Approval:
    return approve(request, by="olga")


def kim_approves(request: Approval) -> Approval:
    return approve(request, by="kim")


def kim_rejects(request: Approval) -> Approval:
    return reject(request, by="kim")


def assert_one_decision(told: list[list[Any]], requests: list[Approval]) -> None:
    """Each request has one decision and one event of it, and whoever came second was told who came first."""
    for row, request in zip(told, requests, strict=True):
        (winner,) = [it for it in row if isinstance(it, Approval)]
        (loser,) = [it for it in row if isinstance(it, LiyagentError)]
        stored = Approval.objects.get(id=request.id)
        assert (stored.status, stored.decided_by) == (winner.status, winner.decided_by)
        assert isinstance(loser, AlreadyDecided)
        assert str(loser).find(stored.decided_by) >= 0
        assert loser.facts["decided_by"] == stored.decided_by
    assert_one_event(requests)


def assert_one_event(requests: list[Approval]) -> None:
    told = Counter(
        RunEvent.objects.filter(kind="approval.decided").values_list("run_id", flat=True)
    )
    assert told == dict.fromkeys((it.run_id for it in requests), 1)


@pytest.mark.field("FL-53")
def test_of_two_who_approve_at_the_same_moment_one_decides(server: Server) -> None:
    requests = add_requests(ROUNDS)
    assert_one_decision(race(server, requests, olga_approves, kim_approves), requests)
    assert set(Run.objects.values_list("status", "wakes")) == {("queued", 1)}


@pytest.mark.field("FL-53")
def test_of_two_who_approve_at_the_same_moment_one_starts_the_one_run_that_makes_the_call(
    server: Server,
) -> None:
    requests = add_requests(ROUNDS // 2, status="answered", run_waits=False)
    assert_one_decision(race(server, requests, olga_approves, kim_approves), requests)
    loops = Counter(Run.objects.filter(status="queued").values_list("loop", flat=True))
    assert loops == {f"approved:{it.id}": 1 for it in requests}


@pytest.mark.promise("CR-21")
@pytest.mark.field("FL-55")
def test_of_one_who_approves_and_one_who_rejects_one_decides_while_the_run_is_resumed(
    server: Server,
) -> None:
    """The run is claimed, taken, and put back to sleep where nobody has decided yet."""
    holder = add_holder(server.watcher)
    requests = add_requests(ROUNDS, status="running", holder=holder)
    resuming, new_holder = server.connect(), add_holder(server.watcher)

    def resume(request: Approval) -> None:
        fence = Fence(
            run=request.run_id, attempt=1, holder=holder, correlation=request.correlation_id
        )
        assert claim(resuming, fence)
        resuming.execute("UPDATE runs_run SET key_id = 'k1' WHERE id = %s", [request.run_id])
        assert take_one(resuming, new_holder, request.run_id) == [(request.run_id, 2)]
        wakes, status = read(resuming, request)
        if status == "pending":
            resuming.execute(
                "SELECT * FROM liyagent_wait(%s, 2, 1, '', %s, '{}', '{}')",
                [request.run_id, wakes],
            )

    def read(connection: psycopg.Connection[Any], request: Approval) -> tuple[int, str]:
        ((wakes,),) = connection.execute(
            "SELECT wakes FROM runs_run WHERE id = %s", [request.run_id]
        ).fetchall()
        ((status,),) = connection.execute(
            "SELECT status FROM approvals_approval WHERE id = %s", [request.id]
        ).fetchall()
        return wakes, status

    told = race(server, requests, olga_approves, kim_rejects, resume)
    assert_one_decision([row[:2] for row in told], requests)
    assert set(Run.objects.values_list("status", flat=True)) <= {"running", "queued"}
    assert {it.status for it in Approval.objects.all()} == {"approved", "rejected"}


def test_of_an_approval_and_the_end_of_its_time_one_decides(server: Server, world: World) -> None:
    requests = add_requests(ROUNDS)
    soon = (
        "UPDATE approvals_approval SET expires_at = liyagent_now() + interval '2 ms' WHERE id = %s"
    )

    def approve_late(request: Approval) -> Approval:
        with psycopg.connect(world.url, autocommit=True) as connection:
            connection.execute(soon, [request.id])
        return olga_approves(request)

    def expire_at_last(request: Approval) -> Approval:
        while True:
            try:
                return expire(request.id)
            except AlreadyDecided as error:
                if "its time has not passed yet" not in str(error):
                    raise

    told = race(server, requests, approve_late, expire_at_last)
    for row, request in zip(told, requests, strict=True):
        (winner,) = [it for it in row if isinstance(it, Approval)]
        (loser,) = [it for it in row if isinstance(it, LiyagentError)]
        stored = Approval.objects.get(id=request.id)
        assert stored.status == winner.status
        assert isinstance(loser, AlreadyDecided if stored.status == "approved" else ApprovalExpired)
    assert_one_event(requests)
    assert not Run.objects.filter(status="waiting").exists()


@pytest.mark.promise("CR-17")
def test_of_an_approval_and_the_end_of_its_run_one_settles_the_request(server: Server) -> None:
    """Neither waits for the other in a circle; what was approved first is stale with the run's end."""
    ending, holder = server.connect(), add_holder(server.watcher)
    requests = add_requests(ROUNDS, status="running", holder=holder)

    def end(request: Approval) -> None:
        fence = Fence(
            run=request.run_id, attempt=1, holder=holder, correlation=request.correlation_id
        )
        assert finish(ending, fence, 1)

    told = race(server, requests, olga_approves, end)
    for (answer, _), request in zip(told, requests, strict=True):
        stored = Approval.objects.get(id=request.id)
        if isinstance(answer, Approval):
            assert (stored.status, stored.decided_by) == ("stale", "olga")
        else:
            assert isinstance(answer, RunIsOver)
            assert (stored.status, stored.decided_by) == ("withdrawn", "")
    assert_one_event(requests)
    assert set(Run.objects.values_list("status", flat=True)) == {"answered"}
