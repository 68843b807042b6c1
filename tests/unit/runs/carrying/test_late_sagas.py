"""What is first to be said of a saga when its run has ended stands as if it had been said before (SG-05, SG-08)."""

from __future__ import annotations

import pytest

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval, ApprovalStatus
from runs.compensate import compensate_run
from runs.hand_off import hand_off_due
from runs.late_look import look_late
from runs.models import Run
from sagas.models import Saga, Undo
from tests.unit.approvals.deciding import let_decide
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_compensation import undoing, undone
from tests.unit.runs.carrying.test_hand_off import word
from tests.unit.runs.carrying.vendor import Killed, die_after_effect

__all__ = ["undoing"]

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
    assert hand_off_due() == 1
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
