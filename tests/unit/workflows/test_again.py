"""A failed workflow is handed to a person as its definition says, and begun again with its input (SG-09, SG-10)."""

from __future__ import annotations

from typing import Any

import pytest

from liyagent.approvals.decide import decide
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.words import arguments_of
from liyagent.tickets.models import Ticket
from liyagent.tickets.words import body_of
from liyagent.workflows.errors import WorkflowUnknown
from liyagent.workflows.models import Workflow
from runs.again import begun_again
from runs.models import Run
from runs.preview_undo import preview_undo
from runs.stop import stop_run
from sagas.models import Saga
from tests.unit.approvals.deciding import let_decide
from tests.unit.workflows.conftest import Works, tool

ISSUE = tool(
    "issue",
    "keyed",
    {"name": "{{ input.title }}"},
    compensate={"tool": "keyed", "args": {"undo_of": {"$expr": "steps.issue.output.id"}}},
)
FAILS = tool("fails", "look", {"about": "{{ steps.issue.output.nothing }}"})


def failed(works: Works, **on_failure: Any) -> Run:
    works.start(ISSUE, FAILS, given={"title": "disk full"}, on_failure=on_failure)
    run = works.world.process().carry()
    assert run.status == "failed"
    return run


def approve() -> Approval:
    approval = Approval.objects.get(kind="saga")
    return decide(
        approval_id=approval.id,
        status=ApprovalStatus.APPROVED,
        actor="kim",
        reason="seen",
        digest=approval.digest,
    )


@pytest.mark.promise("SG-08", "SG-09")
def test_approving_runs_the_workflow_again_with_the_same_input(works: Works) -> None:
    let_decide("kim")
    run = failed(works)
    works.world.process("undoer").carry()
    told = arguments_of(Approval.objects.get(kind="saga"))
    assert told["input"] == {"title": "disk full"}
    assert told["failed_step"] == "fails"
    works.save(ISSUE)
    assert approve().status == "consumed"
    again = begun_again(Saga.objects.get(id=run.id))
    assert again is not None
    assert (again.workflow, again.mission, again.parent_id) == ("work", run.mission, None)
    assert works.world.process("again").carry().status == "answered"
    assert [it.get("name") for it in works.world.vendor.rows] == ["disk full", None, "disk full"]


def test_a_workflow_that_is_gone_undoes_the_decision(works: Works) -> None:
    let_decide("kim")
    failed(works)
    works.world.process("undoer").carry()
    Workflow.objects.all().delete()
    with pytest.raises(WorkflowUnknown):
        approve()
    assert Approval.objects.get(kind="saga").status == "pending"


@pytest.mark.promise("SG-10")
def test_a_ticket_is_filed_even_without_undos(works: Works) -> None:
    works.start(FAILS, on_failure={"handoff": "ticket"})
    run = works.world.process().carry()
    saga, ticket = Saga.objects.get(id=run.id), Ticket.objects.get()
    assert (saga.status, saga.handoff_id, saga.registered) == ("handed_off", ticket.number, 0)
    body = body_of(ticket)
    assert isinstance(body, dict)
    assert body["failed_step"] == "fails"
    assert not Run.objects.exclude(id=run.id).exists()


@pytest.mark.promise("SG-10")
def test_compensate_false_keeps_the_writes_and_hands_off(works: Works) -> None:
    run = failed(works, compensate=False)
    assert Saga.objects.get(id=run.id).status == "handed_off"
    (left,) = arguments_of(Approval.objects.get(kind="saga"))["not_undone"]
    assert (left["write"], left["fate"]) == ("v/keyed", "owed")
    assert len(works.world.vendor.rows) == 1
    assert not Run.objects.exclude(id=run.id).exists()


@pytest.mark.promise("SG-09")
def test_none_files_nothing_and_still_undoes(works: Works) -> None:
    run = failed(works, handoff="none")
    works.world.process("undoer").carry()
    assert Saga.objects.get(id=run.id).status == "compensated"
    assert not Approval.objects.exists()
    assert not Ticket.objects.exists()


@pytest.mark.promise("SG-05")
@pytest.mark.parametrize(
    ("on_failure", "told"),
    [({}, ["keyed"]), ({"on_stop": "keep"}, []), ({"compensate": False}, [])],
)
def test_before_a_stop_it_is_told_what_it_would_undo(
    works: Works, on_failure: dict[str, Any], told: list[str]
) -> None:
    wait = {"id": "rest", "type": "wait", "seconds": 3600}
    run = works.start(ISSUE, wait, given={"title": "disk full"}, on_failure=on_failure)
    works.world.process().carry()
    assert [it.of_tool for it in preview_undo(run.id)] == told
    stop_run(run_id=run.id, actor="olga", reason="enough")
    works.world.process("stopping").carry()
    assert Run.objects.filter(loop="undo:1").exists() == bool(told)
    assert preview_undo(run.id) == []
