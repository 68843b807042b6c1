"""A call that a gate holds waits for a person, and is then made exactly as approved, once."""

from __future__ import annotations

import pytest

from runs.keys import approved_call_key
from runs.models import Run
from runs.stop import stop_run
from tests.unit.approvals.deciding import HOLD_AND_GO_ON, approve, reject, the_request
from tests.unit.runs.carrying.conftest import World, calls, says


@pytest.mark.promise("CR-29")
@pytest.mark.field("FL-51")
def test_an_approved_call_is_made_once_by_any_process_with_the_key_of_its_approval(
    held: World,
) -> None:
    run = held.start(calls(("v/look", {}), ("v/keyed", {"n": 1})), says("done"))
    assert held.process("first").carry().status == "waiting"
    approval = the_request()
    assert (approval.status, approval.tool, approval.run_waits) == ("pending", "keyed", True)
    assert held.vendor.received == ["look"]
    assert Run.objects.get(id=run.id).holder is None
    approve(approval)
    ended = held.process("third").carry()
    assert (ended.status, ended.losses) == ("answered", 0)
    assert held.vendor.received == ["look", "look", "keyed"]
    call = held.call(run, 1, 1)
    assert (call.fate, call.step_key) == ("done", approved_call_key(approval.id))
    assert the_request().status == "consumed"
    assert [it.kind for it in held.events(run)].count("approval.decided") == 1


def test_a_rejected_call_is_told_with_the_reason_and_never_made(held: World) -> None:
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    reject(the_request())
    assert held.process("second").carry().status == "answered"
    assert held.vendor.received == []
    assert "olga rejected this call: wrong host" in held.model.results()[0]


def test_a_run_that_may_not_wait_is_told_the_request_s_id_and_goes_on(held: World) -> None:
    held.sql(HOLD_AND_GO_ON)
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    assert held.process("first").carry().status == "answered"
    approval = the_request()
    assert (approval.status, approval.run_waits) == ("pending", False)
    assert str(approval.id) in held.model.results()[0]
    assert held.vendor.received == []


@pytest.mark.promise("CR-29")
def test_a_request_of_a_run_that_went_on_is_made_once_by_a_run_of_its_own(held: World) -> None:
    held.sql(HOLD_AND_GO_ON)
    asked_in = held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    approval = the_request()
    approve(approval)
    made = held.process("second").carry()
    assert (made.status, made.parent_id) == ("answered", asked_in.id)
    assert held.vendor.received == ["keyed"]
    assert held.call(made, 1).step_key == approved_call_key(approval.id)
    assert the_request().status == "consumed"
    assert len(held.model.asked) == 2


def test_the_intent_of_an_unknown_write_waits_for_a_person_where_the_run_may_wait(
    held: World,
) -> None:
    held.sql("UPDATE agents_agent SET write_posture = 'allow'")
    run = held.start(
        calls(("v/blind", {"n": 1}), ids=["toolu_a1b2c3d4e5"]),
        calls(("v/blind", {"n": 1}), ids=["toolu_f6g7h8i9j0"]),
        says("done"),
    )
    held.vendor.after_effect = lambda _tool: (_ for _ in ()).throw(ConnectionError("cut"))
    assert held.process("first").carry().status == "waiting"
    assert held.call(run, 1).fate == "unknown"
    approval = the_request()
    assert approval.gate == "same_intent"
    assert f"call {held.call(run, 1).id}" in approval.held_reason
    held.vendor.after_effect = lambda _tool: None
    approve(approval)
    assert held.process("second").carry().status == "answered"
    assert held.vendor.received == ["blind", "blind"]


@pytest.mark.promise("CR-17")
def test_a_stop_ends_a_run_that_waits_and_withdraws_what_it_waits_for(held: World) -> None:
    run = held.start(calls(("v/keyed", {"n": 1})), says("never"))
    held.process("first").carry()
    stop_run(run_id=run.id, actor="op", reason="enough")
    ended = held.process("second").carry()
    assert (ended.status, ended.reason) == ("stopped", "stopped by op: enough")
    assert the_request().status == "withdrawn"
    assert (held.call(run, 1).fate, held.vendor.received) == ("held", [])
