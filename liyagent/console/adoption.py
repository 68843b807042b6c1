"""What the request to adopt a routine shows: what would be saved, how it would have done, and what changed since it was asked for."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.core.pills import pill
from liyagent.workflows.models import Workflow
from routines.models import Routine, RoutineState
from routines.page import compared
from routines.request import routine_of
from routines.wording import plural

GONE = "The routine is not there any more."
NOT_ITS = "It is not the request that is open for the routine: that one is {state} by now."
MOVED = "Runs were looked through meanwhile, and the routine compiles to something else. Reject or withdraw this, and ask for what it is now."
STALE = "A tool of it is not what it was when it was compiled. Have the agent's runs looked through again."


def adoption(request: HttpRequest, approval: Approval, args: dict[str, Any] | None) -> dict[str, Any]:  # fmt: skip
    """Return what stands on the page: with what was filed where that may be read (`args`)."""
    routine = Routine.objects.filter(id=routine_of(approval)).first()
    told = compared(args, routine) if args is not None else {}
    shown: dict[str, Any] = {**told, "why_not": "", "workflow_link": _link(request, approval)}
    if args is not None:
        shown["scored"] = pill(*told["score"]) if told["score"][0] else ""
        shown["seen"] = f"{plural(args['support'], 'run')}, {plural(args['distinct_inputs'], 'different task')} among those that it was compiled from"  # fmt: skip
    if approval.status == ApprovalStatus.PENDING:
        shown["why_not"] = _why_not(routine, approval, told)
    return shown


def _why_not(routine: Routine | None, approval: Approval, told: dict[str, Any]) -> str:
    if routine is None:
        return GONE
    if routine.state != RoutineState.FILED or routine.approval_id != approval.id:
        return NOT_ITS.format(state=routine.get_state_display().lower())
    if routine.digest not in approval.held_reason:
        return MOVED
    return STALE if told.get("changed_tools") else ""


def _link(request: HttpRequest, approval: Approval) -> str:
    if not request.user.has_perm("workflows.view_workflow"):
        return ""
    found = Workflow.objects.filter(key=approval.tool).values_list("pk", flat=True).first()
    return reverse("admin:workflows_workflow_change", args=[found]) if found else ""
