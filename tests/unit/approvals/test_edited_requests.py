"""Requests and marks that somebody edits with SQL: nothing leaves on a decision that no process of ours wrote (CR-16)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from liyagent.approvals.models import Approval
from liyagent.core.errors import LiyagentError
from runs.models import Run
from tests.unit.approvals.deciding import HOLD_AND_GO_ON, approve, the_request
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect

DECIDED = """
    UPDATE approvals_approval SET status = 'approved', decided_by = 'olga', decided_at = liyagent_now(),
        decision_reason = 'looked at'
"""
WAKE = "SELECT liyagent_wake(id) FROM runs_run"
# What somebody makes of a decision that was made, or that was made about it.
FORGERIES = {
    "another decider": ("UPDATE approvals_approval SET decided_by = 'kim'", approve),
    "another time to live": (
        "UPDATE approvals_approval SET expires_at = expires_at + interval '1 year'",
        approve,
    ),
    "another time of decision": (
        "UPDATE approvals_approval SET decided_at = decided_at + interval '1 hour'",
        approve,
    ),
    "no decision at all": (DECIDED, None),
}


@pytest.mark.promise("CR-16")
@pytest.mark.parametrize(("forgery", "decide"), FORGERIES.values(), ids=FORGERIES)
def test_a_decision_that_nobody_made_so_lets_nothing_leave(
    held: World, forgery: str, decide: Callable[[Approval], Approval] | None
) -> None:
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    old = the_request()
    if decide is not None:
        decide(old)
    held.sql(forgery)
    if decide is None:
        held.sql(WAKE)
    assert held.process("second").carry().status == "waiting"
    assert held.vendor.received == []
    old.refresh_from_db()
    assert (old.status, "is not one that was made here" in old.settled_reason) == ("stale", True)
    approve(the_request(status="pending"))
    assert held.process("third").carry().status == "answered"
    assert held.vendor.received == ["keyed"]


@pytest.mark.promise("CR-16")
def test_the_proof_of_one_decision_is_not_that_of_another_request(held: World) -> None:
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    approve(the_request())
    held.process("second").carry()
    held.start(calls(("v/keyed", {"n": 2})), says("done"))
    held.process("third").carry()
    held.sql(
        "UPDATE approvals_approval a SET status = 'approved', decided_by = b.decided_by, decided_at = b.decided_at,"
        " decision_reason = b.decision_reason, sealed = b.sealed FROM approvals_approval b"
        " WHERE a.status = 'pending' AND b.status = 'consumed'"
    )
    held.sql("SELECT liyagent_wake(id) FROM runs_run WHERE status = 'waiting'")
    assert held.process("fourth").carry().status == "waiting"
    assert held.vendor.received == ["keyed"]


@pytest.mark.promise("CR-16")
@pytest.mark.promise("CR-26")
@pytest.mark.parametrize("tool", ["blind", "readable"])
def test_a_mark_that_was_put_back_to_held_is_not_sent_again(held: World, tool: str) -> None:
    held.start(calls((f"v/{tool}", {"n": 1})), says("done"))
    held.process("first").carry()
    approve(the_request())
    before = held.sql("SELECT sealed, step_key, key_window_seconds FROM runs_call")[0]
    second = held.process("second")
    die_after_effect(tool)
    with pytest.raises(Killed):
        second.carry()
    held.lapse(second)
    held.sql(
        "UPDATE runs_call SET intent = 'held', sealed = %s, step_key = %s, key_window_seconds = %s",
        *before,
    )
    held.sql("UPDATE approvals_approval SET status = 'approved', consumed_at = NULL")
    held.sql("UPDATE runs_run SET not_before = NULL, settle_after = NULL")
    ended = held.process("third").carry()
    assert held.vendor.received == [tool]
    assert (ended.status, ended.error) == ("failed", "checkpoint.broken")


BESIDE = {
    "another starter": "requested_by = 'olga'",
    "another mission": "mission = 'another'",
    "another way in": "entry = 'cli'",
    "another chain": "correlation_id = gen_random_uuid()",
}


@pytest.mark.parametrize("edit", BESIDE.values(), ids=BESIDE)
def test_what_is_approved_later_is_made_for_who_asked_and_in_their_chain(
    held: World, edit: str
) -> None:
    held.sql(HOLD_AND_GO_ON)
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    held.sql(f"UPDATE approvals_approval SET {edit}")
    with pytest.raises(LiyagentError) as refused:
        approve(the_request(), by="kim")
    assert refused.value.http_status == 409
    assert (the_request().status, Run.objects.count()) == ("pending", 1)


@pytest.mark.parametrize("gone", ["runs_call", "runs_run"])
def test_a_request_whose_run_or_call_is_gone_is_refused_in_words(held: World, gone: str) -> None:
    held.sql(HOLD_AND_GO_ON)
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    held.sql(f"DELETE FROM {gone}")
    with pytest.raises(LiyagentError) as refused:
        approve(the_request())
    assert refused.value.http_status == 409
    assert the_request().status == "pending"
