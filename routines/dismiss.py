"""Dismiss a routine for good: mining never suggests its pattern again (RT-05, FL-94)."""

from __future__ import annotations

from uuid import UUID

from django.db import connection, transaction

from liyagent.approvals.models import Approval
from liyagent.approvals.reason import LONGEST_REASON, checked_reason
from liyagent.audit.record import record
from routines.adopt import change_state, refuse_settled, told_of
from routines.errors import RoutineUnknown
from routines.lock import lock_routine
from routines.models import Routine, RoutineState
from routines.refusals import RoutineFiled

MOST_LOOKS = 5
WITHDRAW = "SELECT count(*) FROM liyagent_decide(%s, 'withdrawn', %s, %s, '')"


def dismiss_routine(*, routine_id: UUID, actor: str, reason: str = "") -> Routine:
    """Drop the pattern, and withdraw what is asked about it: of an approval and this at the same time, one wins.

    Dismissed before, it stays as it is. Raises `RoutineUnknown`; `RoutineAdopted` while its workflow is there, `BadReason`;
    `RoutineFiled` where requests about it are filed faster than this can withdraw them.
    """
    reason = checked_reason(reason) if reason else ""
    for _ in range(MOST_LOOKS):
        dismissed = _dismiss(routine_id, actor=actor, reason=reason)
        if dismissed is not None:
            return dismissed
    raise RoutineFiled("other requests about it were filed meanwhile", routine=routine_id)


def _dismiss(routine_id: UUID, *, actor: str, reason: str) -> Routine | None:
    """None where another request was filed while this one waited for the routine."""
    with transaction.atomic(durable=True):
        seen = Routine.objects.filter(id=routine_id).only("state", "approval_id").first()
        if seen is None:
            raise RoutineUnknown(f"there is no routine {routine_id}")
        request = seen.approval_id if seen.state == RoutineState.FILED else None
        # The request before the routine: the order in which a decision takes them.
        withdrawn = request is not None and _withdraw(request, actor=actor, reason=reason)
        routine = lock_routine(routine_id)
        if routine.state == RoutineState.DISMISSED:
            return routine
        refuse_settled(routine)
        if routine.state == RoutineState.FILED and routine.approval_id != request:
            transaction.set_rollback(True)
            return None
        change_state(routine, RoutineState.DISMISSED, approval_id=None, reason=reason)
        more = {"approval": str(request)} if withdrawn else {}
        detail = {**told_of(routine), **more, "reason": reason}
        record("agent.routine.dismissed", actor=actor, agent=routine.agent_key, detail=detail)
    return routine


def _withdraw(request: UUID, *, actor: str, reason: str) -> bool:
    told = f"the routine was dismissed{f': {reason}' if reason else ''}"[:LONGEST_REASON]
    with connection.cursor() as cursor:
        cursor.execute(WITHDRAW, [request, actor, told])
        if not cursor.fetchone()[0]:
            return False
    approval = Approval.objects.defer("sealed").get(id=request)
    record(
        "agent.approval.withdrawn",
        actor=actor,
        mission=approval.mission,
        correlation_id=approval.correlation_id,
        run_id=approval.run_id,
        detail={"approval": str(request), "by": actor, "reason": told},
    )
    return True
