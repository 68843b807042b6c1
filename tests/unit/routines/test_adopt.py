"""A routine is adopted by a person, exactly as it was shown, or not at all (RT-05, RT-07, FL-94)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from liyagent.agents.models import Agent
from liyagent.approvals.decide import decide, expire_due, find_approval, withdraw
from liyagent.approvals.errors import AlreadyDecided, OwnRequest
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.shown import lines_of
from liyagent.approvals.told import told_of
from liyagent.approvals.words import arguments_of
from liyagent.audit.models import AuditRow
from liyagent.core.canonical import digest
from liyagent.core.errors import LiyagentError
from liyagent.gateway.models import Tool
from liyagent.workflows.models import Workflow
from liyagent.workflows.save import save_workflow
from routines.adopt import ACTOR, adopt_routine
from routines.errors import RoutineUnknown
from routines.models import Routine, RoutineState
from routines.refusals import (
    NotItsRequest,
    RoutineAdopted,
    RoutineFiled,
    RoutineMoved,
    RoutineStale,
    RoutineUnfit,
    RoutineWithheld,
)
from tests.unit.routines.stored import definition, move_on, store
from tests.unit.runs.carrying.conftest import World, world

__all__ = ["world"]


def approve(approval: Approval, *, by: str = "ben") -> Approval:
    return decide(
        approval_id=approval.id, status=ApprovalStatus.APPROVED, actor=by, reason="it is what we do", digest=approval.digest
    )  # fmt: skip


def audited(name: str) -> list[dict[str, Any]]:
    rows = AuditRow.objects.filter(action=f"agent.routine.{name}").order_by("id")
    return list(rows.values_list("detail", flat=True))


def now(routine: Routine) -> Routine:
    return Routine.objects.get(id=routine.id)


@pytest.mark.promise("RT-05")
@pytest.mark.promise("RT-07")
def test_asking_files_a_request_that_names_the_digest_and_saves_nothing(world: World) -> None:
    routine = store()
    filed = adopt_routine(routine_id=routine.id, actor="anna")
    approval = find_approval(filed.approval.id)
    assert (approval.kind, approval.status, approval.requested_by) == ("routine", "pending", "anna")
    assert routine.digest in approval.held_reason
    words = arguments_of(approval)
    assert (words["digest"], words["definition"]) == (routine.digest, routine.definition)
    assert digest(words["definition"]) == routine.digest
    assert (now(routine).state, now(routine).approval_id) == ("filed", approval.id)
    assert not Workflow.objects.exists()
    (row,) = audited("adoption_requested")
    assert (row["digest"], row["approval"]) == (routine.digest, str(approval.id))
    again = adopt_routine(routine_id=routine.id, actor="carl")
    assert (again.approval.id, again.is_new, Approval.objects.count()) == (approval.id, False, 1)


@pytest.mark.promise("RT-05")
@pytest.mark.promise("RT-07")
def test_approved_it_is_saved_as_it_was_shown_in_the_commit_of_the_decision(world: World) -> None:
    routine = store()
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    settled = approve(approval)
    key = f"routine-triage-{routine.pattern[:8]}"
    workflow = Workflow.objects.get()
    assert (workflow.key, workflow.agent.key, workflow.is_enabled) == (key, "triage", True)
    assert (workflow.digest, workflow.definition) == (routine.digest, definition())
    row = now(routine)
    assert (row.state, row.workflow_key, row.adopted_by) == ("adopted", key, "ben")
    assert settled.status == "consumed"
    (told,) = audited("adopted")
    assert (told["digest"], told["workflow"], told["version"]) == (routine.digest, key, 1)
    with pytest.raises(RoutineAdopted, match=f"ben adopted it as workflow {key}"):
        adopt_routine(routine_id=routine.id, actor="anna")


@pytest.mark.promise("RT-05")
@pytest.mark.field("FL-94")
def test_a_definition_that_changed_in_between_is_refused_and_the_request_stays(
    world: World,
) -> None:
    """Mined again, the pattern compiled to another order of its parameters."""
    routine = store()
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    move_on(routine, definition(kind="reboot"))
    with pytest.raises(RoutineMoved, match=r"other is: \$\.steps\[s2\]\.args\.kind"):
        approve(approval)
    assert find_approval(approval.id).status == "pending"
    assert not Workflow.objects.exists()
    assert audited("adopted") == []
    beside = told_of(approval.id, with_words=False)["routine"]
    assert (beside["is_as_asked"], beside["state"]) == (False, "filed")
    with pytest.raises(RoutineFiled, match="about what it was before"):
        adopt_routine(routine_id=routine.id, actor="anna")
    withdraw(approval_id=approval.id, actor="anna", reason="it moved on", may_decide=False)
    approve(adopt_routine(routine_id=routine.id, actor="anna").approval)
    assert Workflow.objects.get().definition == definition(kind="reboot")


@pytest.mark.promise("RT-05")
@pytest.mark.field("FL-94")
@pytest.mark.parametrize("number", [1e16, -0.0, 1.10, 1e21, 2**60, 1e-7], ids=str)
def test_what_a_column_makes_of_a_number_is_what_was_hashed_or_nothing_is_asked(
    world: World, number: float
) -> None:
    routine = store(of=definition(kind=number))
    try:
        approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    except RoutineMoved:
        assert digest(routine.definition) != routine.digest
        assert now(routine).state == "suggested"
        return
    approve(approval)
    saved = Workflow.objects.get()
    assert saved.digest == digest(saved.definition) == routine.digest


@pytest.mark.promise("RT-05")
def test_a_stored_definition_that_somebody_edited_is_not_asked_about(world: World) -> None:
    routine = store()
    Routine.objects.update(definition=definition(kind="rm"))
    with pytest.raises(RoutineMoved, match="not what its digest was made of"):
        adopt_routine(routine_id=routine.id, actor="anna")
    assert not Approval.objects.exists()


@pytest.mark.promise("RT-05")
@pytest.mark.parametrize("columns", [{"digest": "0" * 64}, {"definition": definition(kind="rm")}])
def test_of_a_row_edited_after_it_was_asked_nothing_is_saved(
    world: World, columns: dict[str, Any]
) -> None:
    routine = store()
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    Routine.objects.update(**columns)
    with pytest.raises(RoutineMoved):
        approve(approval)
    assert not Workflow.objects.exists()


@pytest.mark.promise("RT-05")
@pytest.mark.promise("RT-07")
@pytest.mark.parametrize("how", ["rejected", "withdrawn", "expired"])
def test_whatever_else_is_decided_returns_it_to_the_suggestions(world: World, how: str) -> None:
    routine = store()
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    if how == "rejected":
        decide(approval_id=approval.id, status=ApprovalStatus.REJECTED, actor="ben", reason="not yet", digest=approval.digest)  # fmt: skip
    elif how == "withdrawn":
        withdraw(approval_id=approval.id, actor="anna", reason="not yet", may_decide=False)
    else:
        world.sql("UPDATE approvals_approval SET expires_at = liyagent_now() - interval '1 s'")
        assert expire_due() == 1
    row = now(routine)
    assert (row.state, row.approval_id) == ("suggested", None)
    (told,) = audited("rejected")
    assert (told["decision"], told["approval"]) == (how, str(approval.id))
    assert not Workflow.objects.exists()
    with pytest.raises(LiyagentError):
        approve(approval)
    assert adopt_routine(routine_id=routine.id, actor="anna").is_new


@pytest.mark.promise("RT-05")
def test_nobody_approves_what_they_asked_for_themselves(world: World) -> None:
    routine = store()
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    with pytest.raises(OwnRequest):
        approve(approval, by="anna")
    assert now(routine).state == "filed"


@pytest.mark.promise("RT-07")
def test_what_the_setting_files_is_nobody_s_request(world: World) -> None:
    """Whoever had the runs mined did not ask for the adoption, and may decide about it."""
    routine = store()
    approval = adopt_routine(routine_id=routine.id, actor=ACTOR).approval
    assert approval.requested_by == ""
    approve(approval, by="anna")
    assert now(routine).state == "adopted"


@pytest.mark.promise("RT-05")
def test_a_routine_whose_tools_changed_is_neither_asked_about_nor_saved(world: World) -> None:
    routine = store()
    Tool.objects.filter(name="keyed").update(schema={"type": "object", "required": ["of", "why"]})
    with pytest.raises(RoutineStale, match="v/keyed; have the runs of agent triage mined again"):
        adopt_routine(routine_id=routine.id, actor="anna")
    Tool.objects.filter(name="keyed").update(schema={})
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    Tool.objects.filter(name="blind").update(is_offered=False)
    with pytest.raises(RoutineStale, match="v/blind"):
        approve(approval)
    assert told_of(approval.id, with_words=False)["routine"]["changed_tools"] == ["v/blind"]
    assert (now(routine).state, Workflow.objects.count()) == ("filed", 0)


@pytest.mark.promise("RT-05")
def test_what_cannot_be_saved_is_told_with_its_path_before_anybody_is_asked(world: World) -> None:
    routine = store()
    Agent.objects.filter(key="triage").update(tool_patterns=["v/look", "v/keyed"])
    with pytest.raises(RoutineUnfit, match=r"\$\.steps\[2\]\.tool is v/blind, which agent triage may not use"):  # fmt: skip
        adopt_routine(routine_id=routine.id, actor="anna")
    Agent.objects.filter(key="triage").update(tool_patterns=["v/*"])
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    Agent.objects.filter(key="triage").update(tool_patterns=["v/look"])
    with pytest.raises(RoutineUnfit, match="may not use"):
        approve(approval)
    assert (find_approval(approval.id).status, now(routine).state) == ("pending", "filed")


@pytest.mark.promise("RT-05")
def test_somebody_else_s_workflow_of_that_key_is_never_replaced(world: World) -> None:
    routine = store()
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    plain = {"steps": [{"id": "a", "type": "set", "values": {"x": 1}}]}
    save_workflow(key=approval.tool, name="mine", agent_key="triage", definition=plain, actor="carl")  # fmt: skip
    with pytest.raises(RoutineUnfit, match="already"):
        approve(approval)
    withdraw(approval_id=approval.id, actor="anna", reason="no", may_decide=False)
    with pytest.raises(RoutineUnfit, match="not this routine's"):
        adopt_routine(routine_id=routine.id, actor="anna")
    assert Workflow.objects.get().definition == plain


@pytest.mark.promise("RT-05")
def test_one_that_was_suspended_is_adopted_again_over_the_version_that_was_shown(world: World) -> None:  # fmt: skip
    routine = store()
    approve(adopt_routine(routine_id=routine.id, actor="anna").approval)
    Routine.objects.update(state=RoutineState.SUSPENDED)
    move_on(routine, definition(kind="reboot"))
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    assert arguments_of(approval)["workflow_version"] == 1
    own = Workflow.objects.get()
    save_workflow(key=own.key, name="by hand", agent_key="triage", definition=definition(kind="halt"), actor="carl")  # fmt: skip
    with pytest.raises(RoutineUnfit, match="is at version 2; 1 was expected"):
        approve(approval)
    decide(approval_id=approval.id, status=ApprovalStatus.REJECTED, actor="ben", reason="look", digest=approval.digest)  # fmt: skip
    assert now(routine).state == "suspended"
    approve(adopt_routine(routine_id=routine.id, actor="anna").approval)
    assert (Workflow.objects.get().version, Workflow.objects.get().definition) == (3, definition(kind="reboot"))  # fmt: skip
    assert Workflow.objects.get().is_enabled


@pytest.mark.promise("RT-05")
def test_a_request_that_is_not_the_routine_s_saves_nothing(world: World) -> None:
    routine = store()
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    Routine.objects.update(approval_id=routine.id)
    with pytest.raises(NotItsRequest):
        approve(approval)
    Routine.objects.all().delete()
    with pytest.raises(RoutineUnknown):
        approve(approval)
    decide(approval_id=approval.id, status=ApprovalStatus.REJECTED, actor="ben", reason="gone", digest=approval.digest)  # fmt: skip
    with pytest.raises(AlreadyDecided):
        approve(approval)


def test_what_is_not_offered_or_not_there_is_refused(world: World) -> None:
    routine = store(withheld="a run passed a password")
    with pytest.raises(RoutineWithheld, match="a run passed a password"):
        adopt_routine(routine_id=routine.id, actor="anna")
    Routine.objects.update(withheld="")
    with pytest.raises(RoutineMoved, match=f"its digest is {routine.digest} by now"):
        adopt_routine(routine_id=routine.id, actor="anna", digest="0" * 64)
    with pytest.raises(RoutineUnknown):
        adopt_routine(routine_id=UUID(int=7), actor="anna")  # fmt: skip
    assert not Approval.objects.exists()


@pytest.mark.promise("RT-05")
def test_the_page_of_a_request_has_a_line_for_each_value_that_will_be_saved(world: World) -> None:
    routine = store()
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    told = {line.path: line.text for line in lines_of(arguments_of(approval))}
    assert any(text == "restart" for text in told.values())


@pytest.mark.promise("RT-05")
def test_an_adopted_one_whose_workflow_was_removed_is_offered_again(world: World) -> None:
    routine = store()
    approve(adopt_routine(routine_id=routine.id, actor="anna").approval)
    Workflow.objects.all().delete()
    approve(adopt_routine(routine_id=routine.id, actor="anna").approval)
    assert Workflow.objects.get().key == now(routine).workflow_key
