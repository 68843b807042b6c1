"""Work that a person has to let through first: held like any write, then handed down once, under its approval's key."""

from __future__ import annotations

import pytest

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from runs.keys import approved_call_key
from runs.models import Run
from tests.unit.approvals.conftest import Cut
from tests.unit.approvals.deciding import approve, let_decide, reject
from tests.unit.runs.carrying.conftest import World, says
from tests.unit.runs.carrying.vendor import Killed
from tests.unit.runs.delegating.conftest import (
    Cast,
    all_ended,
    carry_all,
    hands,
    the_child,
)


@pytest.fixture
def held(world: World, cast: Cast) -> Run:
    """A parent whose writes are held and that may wait; the one below it writes once, by a posture of its own."""
    Agent.objects.filter(key="triage").update(write_posture="hold", may_wait=True)
    Agent.objects.filter(key="reader").update(tool_patterns=["v/look"])
    let_decide("olga")
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": [says("all read")]}
    return world.start()


@pytest.mark.promise("CR-21")
@pytest.mark.promise("CR-29")
def test_approved_work_is_handed_down_once_under_its_approval_s_key(
    world: World, cast: Cast, held: Run
) -> None:
    assert [it.status for it in carry_all(world)] == ["waiting"]
    request = Approval.objects.get()
    assert (request.server, request.tool, request.gate) == ("agents", "reader", "write_posture")
    approve(request)
    parent, child = carry_all(world, name="b")
    assert (parent.status, child.status) == ("answered", "answered")
    call = world.call(parent, 1)
    assert (call.fate, call.step_key) == ("done", approved_call_key(request.id))
    assert child.loop == call.step_key
    assert cast.told("triage") == ["all read"]
    assert Approval.objects.get().status == "consumed"
    assert all_ended()


@pytest.mark.promise("CR-23")
@pytest.mark.field("FL-81")
@pytest.mark.parametrize("is_after", [False, True], ids=["before it is handed down", "after"])
def test_a_parent_that_dies_as_it_hands_approved_work_down_has_one_child(
    world: World, cast: Cast, held: Run, cut: Cut, is_after: bool
) -> None:
    world.process("first").carry()
    approve(Approval.objects.get())
    second = world.process("second")
    cut("liyagent_delegate", is_after=is_after)
    with pytest.raises(Killed):
        second.carry()
    world.prove_dead(second)
    runs = carry_all(world, name="b")
    assert [it.status for it in runs] == ["answered", "answered"]
    assert cast.told("triage") == ["all read"]
    assert Approval.objects.get().status == "consumed"


def test_rejected_work_is_told_with_the_reason_and_never_handed_down(
    world: World, cast: Cast, held: Run
) -> None:
    world.process("first").carry()
    reject(Approval.objects.get())
    (parent,) = carry_all(world)
    assert parent.status == "answered"
    assert "olga rejected this call: wrong host" in cast.told("triage")[0]


def test_work_approved_for_an_agent_that_is_contained_since_is_not_handed_down(
    world: World, cast: Cast, held: Run
) -> None:
    world.process("first").carry()
    approve(Approval.objects.get())
    world.sql("UPDATE agents_agent SET is_contained = true WHERE key = 'reader'")
    (parent,) = carry_all(world)
    assert parent.status == "answered"
    assert "there is no tool agents/reader" in cast.told("triage")[0]
    assert Approval.objects.get().status == "stale"


def test_work_is_judged_anew_where_the_configuration_moves_on_as_it_is_handed_down(
    world: World, cast: Cast, held: Run, cut: Cut
) -> None:
    """Nothing of the approval is lost: it is consumed by the next try."""
    world.process("first").carry()
    approve(Approval.objects.get())
    cut("liyagent_delegate", act=lambda: world.sql("UPDATE agents_agent SET name = 'x'") and None)
    runs = carry_all(world, name="b")
    assert [it.status for it in runs] == ["answered", "answered"]
    assert Approval.objects.get().status == "consumed"
    assert Approval.objects.count() == 1


def test_work_that_a_gate_refuses_is_put_before_nobody(world: World, cast: Cast, held: Run) -> None:
    """A circle: nobody is asked to approve what would be refused."""
    cast.lists["triage"] = [hands("triage"), says("done")]
    (parent,) = carry_all(world)
    assert parent.status == "answered"
    assert "would be a circle" in cast.told("triage")[0]
    assert not Approval.objects.exists()


def test_a_parent_that_may_not_wait_goes_on_and_a_run_of_its_own_hands_the_approved_work_down(
    world: World, cast: Cast, held: Run
) -> None:
    Agent.objects.filter(key="triage").update(may_wait=False)
    (parent,) = carry_all(world)
    request = Approval.objects.get()
    assert str(request.id) in cast.told("triage")[0]
    assert parent.status == "answered"
    approve(request)
    _, made, child = carry_all(world, name="b")
    assert (made.parent_id, made.status) == (parent.id, "answered")
    assert (child.parent_id, child.status) == (made.id, "answered")
    assert child.loop == approved_call_key(request.id)
    assert the_child(made).id == child.id
    assert all_ended()


def test_a_refused_posture_hands_nothing_down(world: World, cast: Cast, held: Run) -> None:
    Agent.objects.filter(key="triage").update(write_posture="refuse")
    (parent,) = carry_all(world)
    assert parent.status == "answered"
    assert "may read but not write; agents/reader is a write" in cast.told("triage")[0]
