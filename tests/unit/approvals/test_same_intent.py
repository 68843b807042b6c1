"""The same call again, approved before an earlier one came to nobody knows what: the person is asked anew (ruling 8)."""

from __future__ import annotations

import pytest

from liyagent.approvals.models import Approval
from runs.beside_request import beside_request
from runs.models import Call, Run
from runs.settle_by_person import it_happened
from tests.unit.approvals.deciding import HOLD_AND_GO_ON, approve
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import VENDOR


def lose_the_answer(_tool: str) -> None:
    """The next write takes effect, and its answer never comes."""
    VENDOR.after_effect = lambda _tool: None
    raise ConnectionResetError


@pytest.fixture
def pair(held: World) -> list[Approval]:
    """Two requests for the very same call of a run that went on."""
    held.sql(HOLD_AND_GO_ON)
    same = ("v/blind", {"n": 1})
    held.start(
        calls(same, ids=["toolu_a1b2c3d4e5"]), calls(same, ids=["toolu_f6g7h8i9j0"]), says("done")
    )
    held.process("first").carry()
    return list(Approval.objects.order_by("step"))


def unknown_call(held: World, request: Approval) -> Call:
    """Make the call of a request by a run of its own, and lose its answer."""
    VENDOR.after_effect = lose_the_answer
    process = held.process("second")
    taken = dict(process.take())
    run = Run.objects.get(loop=f"approved:{request.id}")
    process.go_on(run.id, taken[run.id])
    call = held.call(run, 1)
    assert call.fate == "unknown"
    for run_id, attempt in taken.items():
        if run_id != run.id:
            process.go_on(run_id, attempt)
    return call


def test_what_was_approved_before_the_same_call_became_unknown_is_asked_anew_and_names_it(
    held: World, pair: list[Approval]
) -> None:
    one, other = pair
    approve(one)
    approve(other)
    call = unknown_call(held, one)
    other.refresh_from_db()
    assert (other.status, held.vendor.received) == ("stale", ["blind"])
    assert f"call {call.id}" in other.settled_reason
    new = Approval.objects.get(status="pending")
    assert (new.replaces, new.digest) == (other.id, other.digest)
    # With that in sight it is made.
    approve(new)
    assert held.process("third").carry().status == "answered"
    assert held.vendor.received == ["blind", "blind"]


def test_who_decides_is_told_of_what_became_unknown_since_it_was_asked(
    held: World, pair: list[Approval]
) -> None:
    one, other = pair
    approve(one)
    call = unknown_call(held, one)
    assert [it["run_id"] for it in beside_request(other)["unknown_calls"]] == [call.run_id]
    approve(other)
    assert held.process("third").carry().status == "answered"
    assert held.vendor.received == ["blind", "blind"]


def test_what_a_person_found_to_have_happened_after_it_was_approved_is_asked_anew(
    held: World, pair: list[Approval]
) -> None:
    """It was approved while nobody knew; by the time it would be made somebody does."""
    one, other = pair
    approve(one)
    call = unknown_call(held, one)
    approve(other)
    it_happened(call_id=call.id, result={"id": 1}, actor="olga", reason="it is there")
    assert held.process("third").carry().status == "failed"
    other.refresh_from_db()
    assert (other.status, held.vendor.received) == ("stale", ["blind"])
    assert f"call {call.id}" in other.settled_reason
