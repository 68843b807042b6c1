"""A run never sleeps on a decision that was made, wherever on its way to sleep it was made (ruling 39)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from liyagent.approvals.models import Approval
from runs.models import Run
from runs.stop import stop_run
from tests.unit.approvals.conftest import Cut
from tests.unit.approvals.deciding import approve, reject, the_request
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.sql import Connection, Server, add_holder, head, start_run, value

# Where the decision falls, on the way of a run that was woken for nothing back to sleep.
CUTS = {
    "taken": ("liyagent_take", True),
    "judged, before it tells of a resume": ("liyagent_flush", False),
    "told of a resume": ("liyagent_flush", True),
    "looked at, before it sleeps": ("liyagent_wait", False),
    "asleep": ("liyagent_wait", True),
}


def run_to_its_end(held: World) -> Run:
    """Carry what is queued for as long as there is something; nobody wakes the run from outside."""
    for number in range(5):
        process = held.process(f"later {number}")
        for run_id, attempt in process.take():
            process.go_on(run_id, attempt)
    return Run.objects.get()


def approve_the_request() -> None:
    approve(the_request())


def stop_the_run() -> None:
    stop_run(run_id=Run.objects.get().id, actor="op", reason="enough")


@pytest.mark.promise("CR-02")
@pytest.mark.field("FL-51")
@pytest.mark.parametrize("decide", [approve, reject])
@pytest.mark.parametrize(("function", "is_after"), CUTS.values(), ids=CUTS)
def test_a_decision_on_the_run_s_way_to_sleep_ends_the_run(
    held: World,
    cut: Cut,
    function: str,
    is_after: bool,
    decide: Callable[[Approval], Approval],
) -> None:
    run = held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    approval = the_request()
    dead = held.process("dead")
    held.sql("SELECT liyagent_wake(%s)", run.id)
    dead.take()
    held.prove_dead(dead)
    pool = cut(function, is_after=is_after, act=lambda: decide(approval))
    held.process("second").carry()
    assert pool.has_acted
    assert run_to_its_end(held).status == "answered"
    assert held.vendor.received == ["keyed"] * (decide is approve)


def test_a_decision_between_filing_and_the_answer_of_that_commit_ends_the_run(
    held: World, cut: Cut
) -> None:
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    cut("liyagent_hold", is_after=True, act=approve_the_request)
    held.process("first").carry()
    assert run_to_its_end(held).status == "answered"
    assert held.vendor.received == ["keyed"]


@pytest.mark.promise("CR-17")
@pytest.mark.parametrize("is_taken", [False, True])
def test_a_stop_of_a_run_that_waits_ends_it_and_withdraws_its_request(
    held: World, cut: Cut, is_taken: bool
) -> None:
    run = held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    if is_taken:
        held.sql("SELECT liyagent_wake(%s)", run.id)
        cut("liyagent_wait", act=stop_the_run)
        held.process("second").carry()
    else:
        stop_the_run()
    ended = held.process("third").carry()
    assert (ended.status, ended.reason) == ("stopped", "stopped by op: enough")
    request = the_request()
    assert (request.status, request.decided_by) == ("withdrawn", "")
    assert held.vendor.received == []
    told = held.events(run)
    assert [it.kind for it in told][-2:] == ["approval.decided", "run.ended"]
    assert '"decision":"withdrawn"' in told[-2].content
    assert held.audit("agent.approval.withdrawn")[0]["approval"] == str(request.id)


@pytest.mark.promise("CR-17")
def test_a_stop_that_comes_before_the_filing_keeps_the_run_awake_and_ends_it(
    held: World, cut: Cut
) -> None:
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    cut("liyagent_hold", act=stop_the_run)
    assert held.process("first").carry().status == "queued"
    assert held.process("second").carry().status == "stopped"
    assert the_request().status == "withdrawn"


@pytest.mark.parametrize("change", ["is_contained", "NOT is_enabled"])
def test_a_run_whose_agent_was_contained_while_it_waited_ends_at_the_decision(
    held: World, change: str
) -> None:
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    column, value_of = (
        change.rsplit(maxsplit=1)[-1],
        "false" if change.startswith("NOT") else "true",
    )
    held.sql(f"UPDATE agents_agent SET {column} = {value_of}")
    reject(the_request())
    assert held.process("second").carry().error in {"agent.contained", "agent.off"}


# The statements themselves, one connection made to wait for the other


REQUEST = """
    INSERT INTO approvals_approval (id, kind, status, run_id, correlation_id, step, index, run_waits, mission, agent_key,
        entry, requested_by, run_as, server, tool, gate, held_reason, digest, policy_fingerprint, ceiling, ceiling_digest,
        sealed, key_id, created_at, expires_at, decided_by, decision_reason, settled_reason)
    VALUES (gen_random_uuid(), 'call', 'pending', %s, %s, 1, 0, true, 'mission-1', 'helper', 'api', '', '', 'v', 'keyed',
        'write_posture', 'held', 'd', 'p', '{}', 'c', '', 'k1', liyagent_now(), liyagent_now() + interval '1 day', '', '', '')
    RETURNING id
"""
DECIDE = "SELECT run FROM liyagent_decide(%s, 'approved', 'olga', 'fine', 'd')"
WAIT = "SELECT * FROM liyagent_wait(%s, %s, %s, '', %s, '{}', '{}')"


def decide_plainly(connection: Connection, approval: object) -> list[tuple[object, ...]]:
    return connection.execute(DECIDE, [approval]).fetchall()


def wait_plainly(connection: Connection, *values: object) -> list[tuple[object, ...]]:
    return connection.execute(WAIT, values).fetchall()


def test_a_wait_that_waited_for_a_decision_under_way_does_not_sleep(server: Server) -> None:
    deciding, waiting = server.connect(), server.connect()
    fence = start_run(deciding)
    approval = value(deciding, REQUEST, fence.run, fence.correlation)
    with deciding.transaction():
        decide_plainly(deciding, approval)
        asleep = server.start_blocked(waiting, wait_plainly, fence.run, fence.attempt, 1, 0)
    assert asleep.result(10)
    assert head(deciding, fence.run, "status") == "queued"


def test_a_decision_that_waited_for_a_run_going_to_sleep_wakes_it(server: Server) -> None:
    deciding, waiting = server.connect(), server.connect()
    fence = start_run(deciding)
    approval = value(deciding, REQUEST, fence.run, fence.correlation)
    with waiting.transaction():
        wait_plainly(waiting, fence.run, fence.attempt, 1, 0)
        decided = server.start_blocked(deciding, decide_plainly, approval)
    assert decided.result(10) == [(fence.run,)]
    assert head(deciding, fence.run, "status") == "queued"


@pytest.mark.parametrize("status", ["running", "waiting", "answered"])
def test_a_decision_that_waits_for_the_head_holds_nothing_of_the_request(
    server: Server, status: str
) -> None:
    """Head first, then approval: what ends a run and withdraws its request never meets it in a circle."""
    ending, deciding = server.connect(), server.connect()
    fence = start_run(ending)
    approval = value(ending, REQUEST, fence.run, fence.correlation)
    ending.execute(
        "UPDATE runs_run SET status = %s, holder = CASE %s WHEN 'running' THEN holder END,"
        " ended_at = CASE %s WHEN 'answered' THEN liyagent_now() END",
        [status, status, status],
    )
    with ending.transaction():
        ending.execute("SELECT 1 FROM runs_run WHERE id = %s FOR NO KEY UPDATE", [fence.run])
        decided = server.start_blocked(deciding, decide_plainly, approval)
        lock = "SELECT 1 FROM approvals_approval WHERE id = %s FOR UPDATE NOWAIT"
        assert ending.execute(lock, [approval]).fetchall() == [(1,)]
    assert decided.result(10) == [(fence.run,)]


def test_a_decision_that_changes_nothing_wakes_nobody(server: Server) -> None:
    here = server.connect()
    fence = start_run(here, holder=add_holder(here))
    approval = value(here, REQUEST, fence.run, fence.correlation)
    here.execute("UPDATE approvals_approval SET status = 'rejected'")
    with here.transaction(force_rollback=True):
        assert decide_plainly(here, approval) == []
    assert head(here, fence.run, "wakes") == 0
