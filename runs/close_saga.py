"""Close a saga: a person says that nothing more of it is undone, and why (SG-09, FL-66)."""

from __future__ import annotations

from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now

from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from liyagent.core.plain import clean_text
from runs.compensate import lock_root
from sagas.errors import Compensating, SagaClosed, SagaOpen, SagaUnknown
from sagas.models import Saga, SagaStatus, Undo, UndoFate

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
        held = Undo.objects.filter(saga_id=root.id, fate=UndoFate.HELD).order_by("approval")
        requests = list(held.values_list("approval", flat=True))
        with connection.cursor() as cursor:
            cursor.execute(LOCK_ASKED, [requests])
            for request in requests:
                cursor.execute(WITHDRAW, [request, actor, f"the saga was closed: {reason}"[:500]])
        close_within(root.id, actor=actor, reason=reason)
    return Saga.objects.get(id=root.id)


def close_within(saga_id: UUID, *, actor: str, reason: str) -> Saga:
    """Close a saga in the caller's transaction, whatever is asked of people for it. Raises as `close_saga`."""
    saga = Saga.objects.select_for_update().filter(id=saga_id).first()
    if saga is None:
        raise SagaUnknown(run=saga_id)
    _check(saga)
    was = saga.status
    Saga.objects.filter(id=saga_id).update(
        status=SagaStatus.CLOSED,
        closed_by=actor,
        closed_reason=reason,
        closed_at=Now(),
        changed_at=Now(),
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


def _check(saga: Saga) -> None:
    if saga.status == SagaStatus.CLOSED:
        raise SagaClosed(f"it was closed before: {saga.closed_reason}", run=saga.id)
    if saga.status == SagaStatus.OPEN:
        raise SagaOpen(run=saga.id)
    if saga.status == SagaStatus.COMPENSATING:
        raise Compensating(
            f"run {saga.compensating_run} is at it; stop that one, or wait", run=saga.id
        )


def _checked(reason: str) -> str:
    cleaned = clean_text(reason).strip()
    if not 0 < len(cleaned) <= LONGEST_REASON or not cleaned.isprintable():
        raise BadInput(
            f"reason wants 1 to {LONGEST_REASON} characters in one line: why nothing more is undone"
        )
    return cleaned
