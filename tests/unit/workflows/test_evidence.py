"""The record of workflows and sagas: whole, of its kinds, of one mission, and what the rows say (EV-01, MI-06)."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

import pytest

from events.kinds import misfit
from events.models import RunEvent
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.audit.models import AuditRow
from liyagent.gateway.local import ToolFailed
from liyagent.workflows.signal import send_signal
from runs.evidence import evidence_of
from runs.models import Run
from sagas.models import Saga
from tests.unit.approvals.deciding import decided, let_decide, the_request
from tests.unit.runs.carrying.vendor import Killed
from tests.unit.workflows.conftest import Works, tool
from tests.unit.workflows.test_failures import AT_ONCE

UNDO = {"tool": "keyed", "args": {"undo_of": "{{ steps.a.output.id }}"}}
EVERYTHING = (
    {"id": "ask", "type": "approve", "question": "Really?"},
    {"id": "go", "type": "wait", "signal": "go"},
    tool("a", "keyed", {"n": 1}, retry=AT_ONCE, compensate=UNDO),
    {
        "id": "both",
        "type": "parallel",
        "branches": {"l": [tool("x", "look")], "r": [tool("y", "keyed", {"n": 2})]},
    },
    tool("bad", "gone"),
)


def carry_all(works: Works, name: str) -> None:
    """Carry whatever can be, until nothing can."""
    process = works.world.process(name)
    for _ in range(20):
        taken = process.take()
        if not taken:
            return
        for it in taken:
            process.go_on(*it)


def at_first(write: Exception, read: BaseException) -> Callable[[str], None]:
    """What the first write, and the first read, of the vendor come to."""
    left = {"keyed": write, "look": read}

    def come(tool: str) -> None:
        if tool in left:
            raise left.pop(tool)

    return come


@pytest.mark.promise("EV-01")
@pytest.mark.promise("MI-06")
def test_all_that_a_workflow_does_is_told_once_and_agrees_with_its_rows(works: Works) -> None:
    let_decide("olga")
    works.world.vendor.before_effect = at_first(ToolFailed("locked"), Killed("look"))
    works.save(*EVERYTHING)
    run = works.begin(mission="INC-7")
    carry_all(works, "one")
    decided(the_request(), ApprovalStatus.APPROVED)
    carry_all(works, "two")
    send_signal(run_id=run.id, name="go", payload={"x": 1}, actor="olga")
    first = works.world.process("dies")
    with suppress(Killed):
        for _ in range(20):
            for it in first.take():
                first.go_on(*it)
    works.world.lapse(first)
    carry_all(works, "three")
    assert Saga.objects.get(id=run.id).status == "compensated"
    _check(run.id)
    kinds = {it.kind for it in RunEvent.objects.all()}
    assert {"retry", "workflow.started", "workflow.waiting", "workflow.ended"} <= kinds
    assert {"saga.registered", "saga.compensating", "saga.undone", "saga.ended"} <= kinds
    assert set(RunEvent.objects.values_list("mission", flat=True)) == {"INC-7"}
    assert set(Run.objects.values_list("mission", flat=True)) == {"INC-7"}
    assert set(Approval.objects.values_list("mission", flat=True)) == {"INC-7"}
    actions = AuditRow.objects.filter(action__startswith="saga.")
    assert set(actions.values_list("mission", flat=True)) == {"INC-7"}


def _check(root: UUID) -> None:
    for run in Run.objects.filter(correlation_id=root):
        judged = evidence_of(run.id, {}).judged
        assert judged is not None
        assert list(judged.differs) == []
        assert (judged.verdict.is_intact, judged.verdict.is_complete) == (True, True)
    for event in RunEvent.objects.all():
        assert misfit(event.kind, json.loads(event.content)) == ""
