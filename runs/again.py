"""What a decision about a hand-off sets going: the run begins again with the same input, or its saga is closed (SG-09)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.tickets.models import NOW
from runs.begin import started_within
from runs.close_saga import close_within
from runs.errors import CheckpointBroken, NotAgain
from runs.failed_saga import AGAIN as GIVEN
from runs.models import Run
from runs.saga_handoff import flaw_of_handed, note_decider
from runs.saga_told import context_of, told_of_undo, with_words
from runs.start import Started, start_run
from runs.unknown import unknown_calls
from sagas.errors import Compensating, SagaClosed
from sagas.models import Saga, SagaStatus, Undo, UndoFate

# How what is no agent's run is begun again, by what it is: filled in by the rooms above. Takes `key`, `given` (the input) and,
# as `start_run`, `entry`, `started_by`, `mission`, `request_id`, `run_id` and `told`; returns `Started`.
AGAIN: dict[str, Callable[..., Started]] = {}
WORKFLOW = "workflow"
MOST_SHOWN = 50
UNKNOWN_FACTS = ("run_id", "step", "index", "server", "tool", "step_key", "marked_at", "late_finding")  # fmt: skip


def decided_about_saga(approval: Approval) -> None:
    """Begin again where it was approved, close where it was rejected; else nothing. In the transaction of the decision.

    Whoever decided read what was handed over, and that is kept (HO-03).
    Raises what is in the way, which undoes the decision: `SagaClosed`, `Compensating`, `NotAgain`, as `start_run` does.
    """
    if approval.status in {ApprovalStatus.APPROVED, ApprovalStatus.REJECTED}:
        note_decider(approval)
    if approval.status == ApprovalStatus.REJECTED:
        reason = approval.decision_reason
        close_within(approval.run_id, actor=approval.decided_by, reason=reason)
    if approval.status == ApprovalStatus.APPROVED:
        root = Run.objects.get(id=approval.run_id)
        _begin_again(_open_saga(approval), root, approval)
        rows = Approval.objects.filter(id=approval.id, status=ApprovalStatus.APPROVED)
        rows.update(status=ApprovalStatus.CONSUMED, consumed_at=NOW)
        approval.refresh_from_db()


def beside_saga(approval: Approval) -> dict[str, Any]:
    """Return `not_undone`, the writes that would be made a second time, newest first, `run_status`, and `unknown_calls`.

    `handoff_problem` is why what was handed over with it does not verify, "" where it does.
    """
    left = Undo.objects.filter(saga_id=approval.run_id).exclude(fate=UndoFate.DONE)
    unknown = unknown_calls().filter(correlation_id=approval.run_id).order_by("-id")
    return {
        "not_undone": [told_of_undo(it, opens=False) for it in with_words(left, most=MOST_SHOWN)],
        "run_status": Run.objects.filter(id=approval.run_id).values_list("status", flat=True).first() or "",
        "handoff_problem": flaw_of_handed(approval.run_id, approval.handoff_digest),
        "unknown_calls": list(unknown.values(*UNKNOWN_FACTS)[:MOST_SHOWN]),
    }  # fmt: skip


def begun_again(saga: Saga) -> Run | None:
    """Return the run that began again on the request that was filed for it, None where none did."""
    if saga.request is None:
        return None
    return Run.objects.defer("seal").filter(id=_run_id(saga.request)).first()


def _open_saga(approval: Approval) -> Saga:
    saga = Saga.objects.select_for_update().filter(id=approval.run_id).first()
    if saga is None or saga.request != approval.id:
        raise CheckpointBroken("this request is not the one that was filed for its run")
    if saga.status == SagaStatus.CLOSED:
        raise SagaClosed(f"it was closed: {saga.closed_reason}", run=saga.id)
    if saga.status == SagaStatus.COMPENSATING:
        raise Compensating(f"run {saga.compensating_run} undoes what it did; decide once it has ended", run=saga.id)  # fmt: skip
    return saga


def _begin_again(saga: Saga, root: Run, approval: Approval) -> None:
    given = _given(saga)
    known: dict[str, Any] = {
        "entry": root.entry,
        "started_by": root.started_by,
        "mission": root.mission,
        "request_id": root.request_id,
        "run_id": _run_id(approval.id),
        "told": {"again": str(root.id), "approval": str(approval.id), "approved_by": approval.decided_by},
    }  # fmt: skip
    with started_within():
        if WORKFLOW not in given:
            start_run(agent_key=root.agent_key, **given, **known)
        elif WORKFLOW in AGAIN:
            AGAIN[WORKFLOW](key=given[WORKFLOW], given=given["input"], **known)
        else:
            raise NotAgain("this process runs no workflows; decide on one that does", run=root.id)


def _given(saga: Saga) -> dict[str, Any]:
    try:
        kept = context_of(saga)
    except (KeyMissing, SealBroken) as error:
        raise NotAgain(f"what it was given cannot be opened here: {error}", run=saga.id) from error
    if GIVEN not in kept:
        raise NotAgain(run=saga.id)
    given: dict[str, Any] = kept[GIVEN]
    return given


def _run_id(request: UUID) -> UUID:
    """The run that a request begins: one at the most, and found by it."""
    return UUID(int=request.int ^ 1)
