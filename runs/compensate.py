"""Undo what a run did and is still owed, because a person asks: one round at a time (SG-06, SG-11)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection, transaction
from psycopg.types.json import Jsonb

from liyagent.core.plain import clean_text
from runs.models import Run
from runs.undo_run import undo_child
from runs.wake import tell_queued
from sagas.errors import NothingOwed, SagaClosed, SagaOpen, SagaUnknown
from sagas.models import Saga, SagaStatus, Undo, UndoFate

START = "SELECT liyagent_start_undo(%s, %s, %s, %s, %s, %s), liyagent_judge_saga(%s)"
TO_TRY = (UndoFate.OWED, UndoFate.FAILED)
LONGEST_REASON = 500


def compensate_run(*, run_id: UUID, actor: str, reason: str = "") -> Saga:
    """Start the next round over what is owed, or has failed; a round that is at it is returned as it is.

    `run_id` is that of the root run, or of any run below it. Raises `SagaUnknown`, `SagaOpen` while the root has not ended,
    `SagaClosed`, `NothingOwed`.
    """
    with transaction.atomic(durable=True):
        root = lock_root(run_id)
        saga = Saga.objects.select_for_update().filter(id=root.id).first()
        if saga is None:
            raise SagaUnknown(run=run_id)
        if saga.status == SagaStatus.COMPENSATING:
            return saga
        if saga.status == SagaStatus.CLOSED:
            raise SagaClosed(f"it was closed: {saga.closed_reason}", run=root.id)
        if not root.is_ended:
            raise SagaOpen(f"run {root.id} is {root.status}; stop it first", run=root.id)
        if not Undo.objects.filter(saga_id=root.id, fate__in=TO_TRY).exists():
            raise NothingOwed(run=root.id)
        child, seal, start = undo_child(root, round_number=saga.round + 1)
        told = clean_text(reason)[:LONGEST_REASON]
        values: list[Any] = [root.id, actor, told, Jsonb(child), seal, start, root.id]
        with connection.cursor() as cursor:
            cursor.execute(START, values)
    tell_queued()
    return Saga.objects.get(id=root.id)


def lock_root(run_id: UUID) -> Run:
    """Return the locked head of the root of a run's family. Raises `SagaUnknown`."""
    correlation = Run.objects.filter(id=run_id).values_list("correlation_id", flat=True).first()
    roots = Run.objects.select_for_update(no_key=True)
    root = roots.filter(id=correlation).first() if correlation is not None else None
    if root is None:
        raise SagaUnknown(f"there is no run {run_id}", run=run_id)
    return root
