"""A routine is dismissed for good, with what is asked about it; of an approval and a dismissal one wins (RT-05, RT-07, FL-94)."""

from __future__ import annotations

from threading import Thread
from uuid import UUID

import psycopg
import pytest
from django.db import connection

from liyagent.approvals.decide import decide, find_approval
from liyagent.approvals.errors import AlreadyDecided, BadReason
from liyagent.approvals.models import ApprovalStatus
from liyagent.audit.models import AuditRow
from liyagent.core.errors import LiyagentError
from liyagent.workflows.models import Workflow
from routines.adopt import adopt_routine
from routines.dismiss import dismiss_routine
from routines.errors import RoutineUnknown
from routines.models import Routine
from routines.refusals import RoutineAdopted, RoutineDismissed
from tests.unit.routines.stored import store
from tests.unit.routines.test_adopt import approve, audited, now
from tests.unit.runs.carrying.conftest import World, world

__all__ = ["world"]


@pytest.mark.promise("RT-05")
@pytest.mark.promise("RT-07")
def test_dismissed_it_is_offered_no_more_and_says_why(world: World) -> None:
    routine = store()
    dismissed = dismiss_routine(routine_id=routine.id, actor="anna", reason="the desk does it")
    assert (dismissed.state, dismissed.reason) == ("dismissed", "the desk does it")
    (told,) = audited("dismissed")
    assert (told["routine"], told["reason"]) == (str(routine.id), "the desk does it")
    with pytest.raises(RoutineDismissed, match="the desk does it"):
        adopt_routine(routine_id=routine.id, actor="anna")
    again = dismiss_routine(routine_id=routine.id, actor="ben", reason="me too")
    assert (again.reason, len(audited("dismissed"))) == ("the desk does it", 1)


@pytest.mark.promise("RT-05")
@pytest.mark.promise("RT-07")
def test_what_is_asked_about_it_is_withdrawn_with_it(world: World) -> None:
    routine = store()
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    dismiss_routine(routine_id=routine.id, actor="carl", reason="no")
    settled = find_approval(approval.id)
    assert (settled.status, settled.decided_by) == ("withdrawn", "carl")
    assert settled.settled_reason == "the routine was dismissed: no"
    assert AuditRow.objects.filter(action="agent.approval.withdrawn").count() == 1
    assert now(routine).approval_id is None
    with pytest.raises(AlreadyDecided):
        approve(approval)
    assert not Workflow.objects.exists()


@pytest.mark.promise("RT-05")
def test_one_that_is_adopted_is_not_dismissed_while_its_workflow_is_there(world: World) -> None:
    routine = store()
    approve(adopt_routine(routine_id=routine.id, actor="anna").approval)
    with pytest.raises(RoutineAdopted, match="ben adopted it"):
        dismiss_routine(routine_id=routine.id, actor="carl", reason="no")
    Workflow.objects.all().delete()
    assert dismiss_routine(routine_id=routine.id, actor="carl").state == "dismissed"


def test_what_is_not_there_or_gives_no_reason_that_can_be_kept_is_refused(world: World) -> None:
    with pytest.raises(RoutineUnknown):
        dismiss_routine(routine_id=UUID(int=7), actor="anna")
    routine = store()
    with pytest.raises(BadReason):
        dismiss_routine(routine_id=routine.id, actor="anna", reason="a\nb")
    assert now(routine).state == "suggested"


@pytest.mark.promise("RT-05")
@pytest.mark.field("FL-94")
@pytest.mark.parametrize("first", ["approve", "dismiss"])
def test_of_an_approval_and_a_dismissal_at_once_one_wins(world: World, first: str) -> None:
    """One of the two is let go on first; the other waits for the very same request, and finds it decided."""
    routine = store()
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    came: dict[str, str] = {}

    def does(what: str) -> None:
        try:
            if what == "approve":
                decide(approval_id=approval.id, status=ApprovalStatus.APPROVED, actor="ben", reason="yes", digest=approval.digest)  # fmt: skip
            else:
                dismiss_routine(routine_id=routine.id, actor="carl", reason="no")
            came[what] = "done"
        except LiyagentError as error:
            came[what] = error.code
        finally:
            connection.close()

    order = ["approve", "dismiss"] if first == "approve" else ["dismiss", "approve"]
    threads = [Thread(target=does, args=(it,)) for it in order]
    with psycopg.connect(world.url) as held:
        held.execute("SELECT FROM approvals_approval WHERE id = %s FOR UPDATE", (approval.id,))
        for number, thread in enumerate(threads, 1):
            thread.start()
            waiting(world, number)
    for thread in threads:
        thread.join(timeout=20)
    assert came[order[0]] == "done"
    is_adopted = first == "approve"
    assert came[order[1]] == ("routine.adopted" if is_adopted else "approval.already_decided")
    assert Routine.objects.get().state == ("adopted" if is_adopted else "dismissed")
    assert Workflow.objects.count() == (1 if is_adopted else 0)


def waiting(world: World, number: int) -> None:
    """Wait until so many sessions wait for a lock."""
    asked = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    for _ in range(20_000):
        if world.sql(asked)[0][0] >= number:
            return
    raise AssertionError(f"{number} sessions do not wait")
