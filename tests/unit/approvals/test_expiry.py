"""Requests expire on the leader's tick: each once, none held up by another, none looked at before its time."""

from __future__ import annotations

import psycopg
import pytest

from liyagent.approvals.decide import expire_due
from liyagent.approvals.models import Approval
from runs.models import Run
from tests.unit.approvals.crowd import add_requests, race
from tests.unit.approvals.deciding import the_request
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.sql import Server, value
from tests.unit.runs.test_few_of_many import MANY

DUE = "SELECT * FROM liyagent_expired_approvals(200)"
EXPIRED = "UPDATE approvals_approval SET expires_at = created_at"
READ = """
SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'approvals_approval'
"""


def test_nobody_decided_in_time_so_the_run_goes_on_without_the_call(held: World) -> None:
    run = held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    assert expire_due() == 0
    held.sql(EXPIRED)
    assert expire_due() == 1
    assert held.process("second").carry().status == "answered"
    assert held.vendor.received == []
    assert "nobody decided about this call in time" in held.model.results()[0]
    assert (the_request().status, held.call(run, 1).fate) == ("expired", "refused")


@pytest.mark.field("FL-58")
def test_a_request_outlives_whoever_waited_for_its_run(held: World) -> None:
    """Nothing but its own time, a person or the run's end settles it: a caller that gave up is none of these."""
    held.start(calls(("v/keyed", {"n": 1})), says("done"), entry="api")
    held.process("first").carry()
    held.sql(
        "UPDATE approvals_approval SET created_at = created_at - interval '6 days',"
        " expires_at = expires_at - interval '6 days'"
    )
    assert expire_due() == 0
    assert the_request().status == "pending"


@pytest.mark.usefixtures("world")
def test_two_leaders_at_once_let_each_request_expire_once(server: Server) -> None:
    """One that was thought dead ticks on beside its successor; neither fails of it."""
    add_requests(30)
    server.watcher.execute(EXPIRED)
    placeholder = list(Approval.objects.all()[:1])
    (told,) = race(server, placeholder, lambda _: expire_due(), lambda _: expire_due())
    assert sum(told) == 30
    assert set(Run.objects.values_list("status", "wakes")) == {("queued", 1)}


@pytest.mark.usefixtures("world")
def test_a_run_that_somebody_holds_up_does_not_hold_up_the_others(
    server: Server, world: World
) -> None:
    stuck, free = add_requests(2)
    server.watcher.execute(EXPIRED)
    with psycopg.connect(world.url) as other:
        other.execute("SELECT 1 FROM runs_run WHERE id = %s FOR UPDATE", [stuck.run_id])
        assert expire_due() == 1
    assert Approval.objects.get(id=free.id).status == "expired"
    assert expire_due() == 1


@pytest.mark.usefixtures("world")
def test_the_tick_reads_the_requests_that_are_due_and_no_other(server: Server) -> None:
    here = server.connect()
    add_requests(MANY)
    here.execute(
        "UPDATE approvals_approval SET status = 'rejected', expires_at = created_at WHERE id IN"
        " (SELECT id FROM approvals_approval LIMIT %s)",
        [MANY // 2],
    )
    due = "UPDATE approvals_approval SET expires_at = created_at WHERE id = (SELECT id FROM approvals_approval"
    here.execute(f"{due} WHERE status = 'pending' LIMIT 1)")
    here.execute("VACUUM ANALYZE approvals_approval")
    with here.transaction():
        assert len(here.execute(DUE).fetchall()) == 1
        assert value(here, READ) < 10
    plan = "\n".join(
        row[0]
        for row in here.execute(
            "EXPLAIN SELECT id FROM approvals_approval WHERE status = 'pending'"
            " AND expires_at <= now() ORDER BY expires_at LIMIT 200"
        )
    )
    assert "approvals_by_expiry" in plan


@pytest.mark.usefixtures("world")
def test_an_end_finds_its_run_s_requests_by_their_index(server: Server) -> None:
    here = server.connect()
    requests = add_requests(MANY)
    here.execute("VACUUM ANALYZE approvals_approval")
    with here.transaction():
        here.execute(
            "SELECT liyagent_withdraw(%s, 'root', %s, '', '')",
            [requests[0].run_id, requests[0].correlation_id],
        )
        assert value(here, READ) < 10
