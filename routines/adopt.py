"""Ask for a routine to be adopted: a request that names the digest of what will be saved. Nothing is saved by asking (RT-05)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from liyagent.approvals.models import Approval
from liyagent.audit.record import record
from liyagent.core.canonical import digest
from liyagent.workflows.models import Workflow
from liyagent.workflows.save import checked
from routines.covered import covered_steps
from routines.lock import lock_routine
from routines.models import NOW, Routine, RoutineState
from routines.refusals import (
    RoutineAdopted,
    RoutineDismissed,
    RoutineFiled,
    RoutineMoved,
    RoutineStale,
    RoutineUnfit,
    RoutineWithheld,
)
from routines.request import file_request, is_as_asked, open_request, workflow_key_of
from routines.tools_seen import changed_tools

# Who asks where the setting does, which is nobody's request: anybody may decide about it; and who suspends.
ACTOR = "liyagent"
MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """The routine as it stands now and its request; `is_new` where this very asking filed it."""

    routine: Routine
    approval: Approval
    is_new: bool


def adopt_routine(*, routine_id: UUID, actor: str, digest: str = "") -> Filed:
    """File the request that a person decides about; asked again while that is open, it is the same one (RT-05, RT-07).

    `digest` is the one that was shown, where one was. Row, request and audit row are one commit. Raises `RoutineUnknown`,
    `RoutineAdopted`, `RoutineDismissed`, `RoutineWithheld`, `RoutineStale`, `RoutineMoved`, `RoutineUnfit`; `RoutineFiled` where the
    open request is about what the routine was before.
    """
    with transaction.atomic(durable=True):
        return _adopt(routine_id, actor=actor, expected=digest)


def _adopt(routine_id: UUID, *, actor: str, expected: str) -> Filed:
    routine = lock_routine(routine_id)
    if expected and expected != routine.digest:
        raise RoutineMoved(f"its digest is {routine.digest} by now", routine=routine.id)
    if routine.state == RoutineState.FILED:
        return Filed(routine=routine, approval=_about_it(routine), is_new=False)
    refuse_settled(routine)
    version = check_adoptable(routine)
    requested_by = "" if actor == ACTOR else actor
    approval = file_request(routine, version=version, actor=actor, requested_by=requested_by)
    change_state(routine, RoutineState.FILED, approval_id=approval.id)
    record(
        "agent.routine.adoption_requested",
        actor=actor,
        agent=routine.agent_key,
        detail={**told_of(routine), "approval": str(approval.id), "workflow": approval.tool},
    )
    approval.refresh_from_db()
    return Filed(routine=routine, approval=approval, is_new=True)


def refuse_settled(routine: Routine) -> None:
    """Refuse what is done about a routine that is dismissed, or adopted: while its workflow is there."""
    if routine.state == RoutineState.ADOPTED and Workflow.objects.filter(key=routine.workflow_key).exists():  # fmt: skip
        told = f"{routine.adopted_by} adopted it as workflow {routine.workflow_key}"
        raise RoutineAdopted(told, routine=routine.id)
    if routine.state == RoutineState.DISMISSED:
        raise RoutineDismissed(routine.reason, routine=routine.id)


def check_adoptable(routine: Routine) -> int:
    """Return the version of the workflow that it would replace, 0 for none; refuse what cannot be saved as things stand.

    Raises `RoutineWithheld`, `RoutineStale`, `RoutineMoved`, `RoutineUnfit`.
    """
    if routine.withheld:
        raise RoutineWithheld(routine.withheld, routine=routine.id)
    refuse_stale(routine, routine.tools_seen)
    # Hashed again as it is stored: what a column makes of a number is what would be saved (FL-94).
    if digest(routine.definition) != routine.digest:
        raise RoutineMoved("its definition is not what its digest was made of", routine=routine.id)
    key = workflow_key_of(routine)
    given = {"key": key, "name": name_of(routine), "agent": routine.agent_key, "definition": routine.definition}  # fmt: skip
    _, problems = checked(given)
    if problems:
        told = "; ".join(f"{path} {said}" for path, said in problems[:MOST_NAMED])
        raise RoutineUnfit(told, routine=routine.id)
    refuse_covered(routine)
    standing = Workflow.objects.filter(key=key).values_list("version", flat=True).first() or 0
    if standing and not routine.workflow_key:
        raise RoutineUnfit(f"there is a workflow {key} already, which is not this routine's", routine=routine.id)  # fmt: skip
    return standing


def refuse_stale(routine: Routine, seen: Mapping[str, str]) -> None:
    """Raise `RoutineStale` where a tool is not what it was when it was seen."""
    changed = changed_tools(seen)
    if changed:
        more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
        told = f"not what it was when it was compiled: {', '.join(changed[:MOST_NAMED])}{more}; have the runs of agent {routine.agent_key} mined again, once one met it as it is now"
        raise RoutineStale(told, routine=routine.id)


def refuse_covered(routine: Routine) -> None:
    """Raise `RoutineUnfit` where a data policy covers what it would write down: one that came after it was compiled (FL-93)."""
    steps = covered_steps(routine.definition)
    if steps:
        told = f"a data policy covers what is given to {', '.join(steps[:MOST_NAMED])}; have the runs of agent {routine.agent_key} mined again"
        raise RoutineUnfit(told, routine=routine.id)


def name_of(routine: Routine) -> str:
    """Return the name of the workflow that it is saved as."""
    return f"Routine of {routine.agent_key}: {' > '.join(it.partition('/')[2] for it in routine.tools)}"[:200]  # fmt: skip


def told_of(routine: Routine) -> dict[str, object]:
    """Return what each audit row tells of a routine."""
    return {"routine": str(routine.id), "pattern": routine.pattern, "digest": routine.digest}


def change_state(routine: Routine, state: RoutineState, **columns: object) -> None:
    """Write where a locked routine stands now, and read it again."""
    rows = Routine.objects.filter(id=routine.id)
    rows.update(state=state, changed_at=NOW, **columns)
    routine.refresh_from_db()


def _about_it(routine: Routine) -> Approval:
    found = open_request(routine)
    if found is None:
        raise RoutineFiled(f"its request {routine.approval_id} is not open any more", routine=routine.id)  # fmt: skip
    if not is_as_asked(routine, found):
        told = f"request {found.id} is about what it was before, and cannot be approved; withdraw that one"
        raise RoutineFiled(told, approval=found.id)
    return found
