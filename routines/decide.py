"""What a decision about an adoption sets going: the workflow is saved as it was shown, or the routine is offered again (RT-05)."""

from __future__ import annotations

from typing import Any

from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.words import arguments_of
from liyagent.audit.record import record
from liyagent.core.canonical import digest
from liyagent.core.errors import BadInput, Conflict
from liyagent.workflows.save import save_workflow
from routines.adopt import change_state, name_of, refuse_covered, refuse_stale, told_of
from routines.baseline import baseline_of
from routines.changes import MOST_CHANGES, changes_between
from routines.lock import lock_routine
from routines.models import NOW, Routine, RoutineState
from routines.refusals import NotItsRequest, RoutineMoved, RoutineUnfit
from routines.request import is_as_asked, routine_of
from routines.tools_seen import changed_tools


def decided_about_routine(approval: Approval) -> None:
    """Save the workflow where it was approved, else offer the routine again. In the transaction of the decision.

    The definition that the request holds is saved, and only if the routine's still hashes to the digest that it names. Raises what
    is in the way, which undoes the decision: `RoutineUnknown`, `NotItsRequest`, `RoutineMoved`, `RoutineStale`, `RoutineUnfit`; what is
    rejected, withdrawn or expired is so whatever became of the routine.
    """
    if approval.status == ApprovalStatus.APPROVED:
        routine = lock_routine(routine_of(approval))
        if not _is_its(routine, approval):
            raise NotItsRequest(approval=approval.id)
        _adopt(routine, approval)
        return
    found = Routine.objects.select_for_update().filter(id=routine_of(approval)).first()
    if found is not None and _is_its(found, approval):
        _give_back(found, approval)


def beside_routine(approval: Approval) -> dict[str, Any]:
    """Return `routine`: where it stands, its digest now, whether that is the one asked about, and which of its tools are others now."""
    routine = Routine.objects.filter(id=routine_of(approval)).first()
    if routine is None:
        return {}
    return {
        "routine": {
            "id": routine.id,
            "agent": routine.agent_key,
            "state": routine.state,
            "digest": routine.digest,
            "is_as_asked": _is_its(routine, approval) and is_as_asked(routine, approval),
            "changed_tools": changed_tools(routine.tools_seen),
        }
    }


def _is_its(routine: Routine, approval: Approval) -> bool:
    return routine.state == RoutineState.FILED and routine.approval_id == approval.id


def _adopt(routine: Routine, approval: Approval) -> None:
    asked = arguments_of(approval)
    now = digest(routine.definition)
    if not now == routine.digest == asked["digest"] == digest(asked["definition"]):
        found = changes_between(asked["definition"], routine.definition)
        told = ", ".join(it.path for it in found[:MOST_CHANGES]) or "its digest alone"
        raise RoutineMoved(f"it hashes to {now} by now, and not to the {asked['digest']} that was shown; other is: {told}", routine=routine.id)  # fmt: skip
    # As who was asked saw them: runs that were looked through since may have met a tool as it is now.
    refuse_stale(routine, asked["tools_seen"])
    refuse_covered(routine)
    try:
        workflow = save_workflow(
            key=asked["workflow"],
            name=name_of(routine),
            agent_key=routine.agent_key,
            definition=asked["definition"],
            actor=approval.decided_by,
            expected_version=asked["workflow_version"],
        )
    except (BadInput, Conflict) as error:
        raise RoutineUnfit(error.detail or error.title, routine=routine.id) from error
    change_state(
        routine,
        RoutineState.ADOPTED,
        workflow_key=workflow.key,
        adopted_by=approval.decided_by,
        adopted_at=NOW,
        reason="",
        baseline=baseline_of(routine.runs),
    )
    detail = {**told_of(routine), "approval": str(approval.id), "workflow": workflow.key, "version": workflow.version}  # fmt: skip
    record(
        "agent.routine.adopted", actor=approval.decided_by, agent=routine.agent_key, detail=detail
    )
    rows = Approval.objects.filter(id=approval.id, status=ApprovalStatus.APPROVED)
    rows.update(status=ApprovalStatus.CONSUMED, consumed_at=NOW)
    approval.refresh_from_db()


def _give_back(routine: Routine, approval: Approval) -> None:
    """Offer it again: one that was switched off for what its runs did stays one."""
    was_adopted = bool(routine.workflow_key)
    state = RoutineState.SUSPENDED if was_adopted else RoutineState.SUGGESTED
    change_state(routine, state, approval_id=None)
    actor, why = approval.decided_by or "system", approval.decision_reason
    record(
        "agent.routine.rejected",
        actor=actor,
        agent=routine.agent_key,
        detail={**told_of(routine), "approval": str(approval.id), "decision": approval.status, "reason": why},
    )  # fmt: skip
