"""What is first to be said of a saga when its run has ended stands as if it had been said before (SG-05, SG-08)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from pytest_django import Settings

from events.models import RunEvent
from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.gateway.local import ToolFailed
from runs.compensate import compensate_run
from runs.hand_off import hand_off_due
from runs.hot import NO_SAGA
from runs.late_look import look_late
from runs.models import Run
from runs.saga_told import context_of
from sagas.models import Saga, Undo
from tests.unit.approvals.deciding import let_decide
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_compensation import fail, undoing, undone
from tests.unit.runs.carrying.test_hand_off import word
from tests.unit.runs.carrying.vendor import Killed, die_after_effect

__all__ = ["undoing"]


def kill_at(tool: str) -> Callable[[str], None]:
    """Let the caller of a tool die as it is called."""

    def die(called: str) -> None:
        if called == tool:
            raise Killed(tool)

    return die


BUMP = "UPDATE agents_configversion SET version = version + 1"


@pytest.mark.promise("SG-05", "SG-08")
def test_a_write_that_is_found_when_its_run_has_ended_goes_to_a_person(undoing: World) -> None:
    run = undoing.start(calls(("v/readable", {"x": 1})), says("done"))
    first = undoing.process("first")
    die_after_effect("readable")
    with pytest.raises(Killed):
        first.carry()
    undoing.lapse(first)
    Agent.objects.update(is_contained=True)
    undoing.sql(BUMP)
    assert undoing.process("second").carry().error == "agent.contained"
    undoing.sql("UPDATE runs_call SET late_look_at = liyagent_now()")
    look_late()
    saga = Saga.objects.get(id=run.id)
    assert (saga.status, saga.cause, Undo.objects.get().fate) == ("handed_off", "failed", "owed")
    assert saga.handed_off_at is not None
    assert Approval.objects.get(kind="saga").run_id == run.id
    Agent.objects.update(is_contained=False)
    undoing.sql(BUMP)
    compensate_run(run_id=run.id, actor="olga")
    undone(undoing)
    assert Saga.objects.get(id=run.id).status == "compensated"


@pytest.mark.promise("SG-05", "SG-08")
@pytest.mark.parametrize(
    ("answer", "status", "handed_off"), [("done", "closed", 0), ("", "handed_off", 1)]
)
def test_a_write_that_is_let_out_when_its_run_has_ended(
    undoing: World, answer: str, status: str, handed_off: int
) -> None:
    let_decide("kim")
    Agent.objects.update(write_posture="hold")
    run = undoing.start(calls(("v/keyed", {"name": "a"})), says(answer))
    undoing.process("first").carry()
    assert Run.objects.get(id=run.id).is_ended
    assert not Saga.objects.exists()
    word(Approval.objects.get(), ApprovalStatus.APPROVED)
    undoing.process("second").carry()
    assert Saga.objects.get(id=run.id).status == status
    assert [it.fate for it in Undo.objects.all()] == ["owed"]
    assert hand_off_due() == handed_off
    assert len(undoing.audit("saga.closed")) == (status == "closed")


@pytest.mark.promise("SG-12")
def test_each_round_tells_what_it_tried_whatever_the_one_before_came_to(
    undoing: World, settings: Settings
) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, undo_backoff_seconds=0)
    run = fail(undoing, ("v/blind", {"x": 1}))

    def fails(_tool: str) -> None:
        raise ToolFailed("locked by change freeze")

    undoing.vendor.before_effect = fails
    undone(undoing, name="one")
    compensate_run(run_id=run.id, actor="olga")
    undone(undoing, name="two")
    assert [it["outcome"] for it in undoing.audit("saga.compensation")] == ["failed"] * 2
    assert RunEvent.objects.filter(kind="saga.undone").count() == 2


@pytest.mark.promise("SG-08")
def test_a_write_that_its_runs_end_leaves_in_doubt_is_listed_in_a_saga(undoing: World) -> None:
    run = undoing.start(calls(("v/blind", {"x": 1})), says("done"))
    first = undoing.process("first")
    die_after_effect("blind")
    with pytest.raises(Killed):
        first.carry()
    undoing.lapse(first)
    Agent.objects.update(is_contained=True)
    undoing.sql(BUMP)
    assert undoing.process("second").carry().error == "agent.contained"
    saga = Saga.objects.get(id=run.id)
    assert (saga.cause, saga.status, saga.registered) == ("failed", "handed_off", 0)


def test_a_run_that_was_lost_for_good_is_undone_and_begins_again_as_it_says(
    undoing: World,
) -> None:
    run = undoing.start(calls(("v/keyed", {"name": "a"})), calls(("v/look", {})), says("done"))
    for number in range(3):
        process = undoing.process(f"p{number}")
        undoing.vendor.before_effect = kill_at("look")
        with pytest.raises(Killed):
            process.carry()
        undoing.lapse(process)
    undoing.vendor.before_effect = lambda _tool: None
    assert undoing.process("last").carry().error == "lost"
    undone(undoing, name="undoer")
    saga = Saga.objects.get(id=run.id)
    assert saga.status == "compensated"
    assert context_of(saga)["again"] == {"task": "look after it", "history": []}


def test_a_run_that_the_release_before_ended_goes_to_a_person(
    undoing: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends its runs without a word of what is to be undone."""
    with monkeypatch.context() as release_before:
        release_before.setattr("runs.finish.failed_saga", lambda *_, **__: NO_SAGA)
        run = fail_as_it_is(undoing)
    saga = Saga.objects.get(id=run.id)
    assert (saga.status, saga.cause, saga.handoff) == ("handed_off", "failed", "approval")
    assert saga.handed_off_at is not None
    compensate_run(run_id=run.id, actor="olga")
    undone(undoing)
    assert Saga.objects.get(id=run.id).status == "compensated"


def fail_as_it_is(world: World) -> Run:
    """A run with one write that fails, as its model answers nothing."""
    world.start(calls(("v/blind", {"x": 1})), says(""))
    return world.process().carry()
