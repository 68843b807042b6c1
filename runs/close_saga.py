"""Close a saga: a person says that nothing more of it is undone, and why (SG-09, FL-66)."""

from __future__ import annotations

from uuid import UUID

from django.db import connection, transaction
from django.db.models import Case, F, Value, When

from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from liyagent.core.plain import clean_text
from liyagent.tickets.models import NOW
from runs.compensate import lock_root
from sagas.errors import Compensating, SagaClosed, SagaOpen, SagaUnknown
from sagas.models import Handoff, Saga, SagaStatus, Undo, UndoFate

LONGEST_REASON = 500
# The heads of the rounds that asked, before their requests: the lock order of every decision.
LOCK_ASKED = """
SELECT 1 FROM runs_run r WHERE r.id IN (SELECT a.run_id FROM approvals_approval a WHERE a.id = ANY (%s))
    ORDER BY r.id FOR NO KEY UPDATE
"""
WITHDRAW = "SELECT count(*) FROM liyagent_decide(%s, 'withdrawn', %s, %s, '')"


def close_saga(*, run_id: UUID, actor: str, reason: str) -> Saga:
    """Close it, and withdraw what is asked of people for its undos: what is approved later is not there any more.

    Raises `SagaUnknown`, `SagaClosed`, `SagaOpen` while its run goes on, `Compensating`, `BadInput` for a reason that cannot
    be kept.
    """
    reason = _checked(reason)
    with transaction.atomic(durable=True):
        root = lock_root(run_id)
        close_within(root.id, actor=actor, reason=reason)
    return Saga.objects.get(id=root.id)


def close_within(saga_id: UUID, *, actor: str, reason: str) -> Saga:
    """Close a saga in the caller's transaction, which holds the head of its root. Raises as `close_saga`."""
    _check(Saga.objects.filter(id=saga_id).first(), saga_id)
    _withdraw(saga_id, actor=actor, reason=f"the saga was closed: {reason}"[:LONGEST_REASON])
    # No round begins while the head is held, so that this is the saga that was looked at.
    saga = _check(Saga.objects.select_for_update().filter(id=saga_id).first(), saga_id)
    was = saga.status
    Saga.objects.filter(id=saga_id).update(
        status=SagaStatus.CLOSED,
        closed_by=actor,
        closed_reason=reason,
        closed_at=NOW,
        changed_at=NOW,
        # What was not put before anybody yet never will be.
        handoff=Case(
            When(handed_off_at=None, then=Value(Handoff.NONE.value)), default=F("handoff")
        ),
    )
    record(
        "saga.closed",
        actor=actor,
        mission=saga.mission,
        correlation_id=saga_id,
        run_id=saga_id,
        request_id="",
        detail={"reason": reason, "was": was},
    )
    return saga


def _withdraw(saga_id: UUID, *, actor: str, reason: str) -> None:
    """Take back what is asked of people: to make a held undo, and to begin again. What they decided before stands."""
    requests = _asked(saga_id)
    with connection.cursor() as cursor:
        cursor.execute(LOCK_ASKED, [[it.id for it in requests]])
        for request in requests:
            cursor.execute(WITHDRAW, [request.id, actor, reason])
            if cursor.fetchone()[0]:
                record(
                    "agent.approval.withdrawn",
                    actor=actor,
                    mission=request.mission,
                    correlation_id=request.correlation_id,
                    run_id=request.run_id,
                    detail={"approval": str(request.id), "by": actor, "reason": reason},
                )


def _asked(saga_id: UUID) -> list[Approval]:
    held = Undo.objects.filter(saga_id=saga_id, fate=UndoFate.HELD).values_list("approval")
    filed = [it.request for it in Saga.objects.filter(id=saga_id).defer("context")]
    ids = [it for it in [*(row for (row,) in held), *filed] if it is not None]
    open_ones = Approval.objects.filter(id__in=ids, status=ApprovalStatus.PENDING)
    return list(open_ones.defer("sealed", "ceiling").order_by("id"))


def _check(saga: Saga | None, saga_id: UUID) -> Saga:
    if saga is None:
        raise SagaUnknown(run=saga_id)
    if saga.status == SagaStatus.CLOSED:
        raise SagaClosed(f"it was closed before: {saga.closed_reason}", run=saga.id)
    if saga.status == SagaStatus.OPEN:
        raise SagaOpen(run=saga.id)
    if saga.status == SagaStatus.COMPENSATING:
        raise Compensating(
            f"run {saga.compensating_run} is at it; stop that one, or wait", run=saga.id
        )
    return saga


def _checked(reason: str) -> str:
    cleaned = clean_text(reason).strip()
    if not 0 < len(cleaned) <= LONGEST_REASON or not cleaned.isprintable():
        raise BadInput(
            f"reason wants 1 to {LONGEST_REASON} characters in one line: why nothing more is undone"
        )
    return cleaned
