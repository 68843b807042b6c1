"""Seal what sagas keep anew with the newest key: undos with what was answered, and the contexts of failed runs (ruling 16)."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.db import connection, transaction

from liyagent.core.seal import KeyMissing, SealBroken
from runs.checkpoint import keyring
from runs.failed_saga import CONTEXT
from runs.marks import place_of
from runs.sealed_rows import RowsResealed
from runs.undo_ride import FORMAT, UNDO, UNDO_OUTCOME
from sagas.models import Saga, SagaStatus, Undo

BATCH = 200
FIRST = UUID(int=0)
BY_KEY = """
SELECT key_id, sum(number)::bigint FROM (
    SELECT key_id, count(*) AS number FROM sagas_undo GROUP BY key_id
    UNION ALL SELECT key_id, count(*) FROM sagas_saga WHERE context IS NOT NULL GROUP BY key_id
) AS it GROUP BY key_id
"""


def reseal_sagas(told: RowsResealed, *, on_progress: Callable[[], None]) -> None:
    """Seal each with the newest key, in a commit of its own; those of one that is being undone just now are left."""
    newest, last = keyring().newest, 0
    older = Undo.objects.exclude(key_id=newest).order_by("id")
    while rows := list(older.filter(id__gt=last).values_list("id", "saga_id")[:BATCH]):
        for undo_id, saga_id in rows:
            _count(told, _undo, saga_id, undo_id)
        last = rows[-1][0]
        on_progress()
    after, sagas = FIRST, Saga.objects.exclude(context=None).exclude(key_id=newest).order_by("id")
    while ids := list(sagas.filter(id__gt=after).values_list("id", flat=True)[:BATCH]):
        for saga_id in ids:
            _count(told, _context, saga_id, 0)
        after = ids[-1]
        on_progress()


def sagas_by_key() -> dict[str, int]:
    """Return how many undos and contexts each key is needed for. Reads all of them once."""
    with connection.cursor() as cursor:
        cursor.execute(BY_KEY)
        return dict(cursor.fetchall())


def _count(
    told: RowsResealed, reseal: Callable[[Saga, int], None], saga_id: UUID, undo_id: int
) -> None:
    try:
        with transaction.atomic(durable=True):
            # Whoever begins a round, or says what came of an undo, waits for this.
            saga = Saga.objects.select_for_update(no_key=True).filter(id=saga_id).first()
            if saga is None or saga.status == SagaStatus.COMPENSATING:
                told.left += 1
                return
            reseal(saga, undo_id)
    except (KeyMissing, SealBroken):
        told.broken += 1
    else:
        told.done += 1


def _undo(_saga: Saga, undo_id: int) -> None:
    ring, undo = keyring(), Undo.objects.get(id=undo_id)
    place = place_of(undo.step, undo.index)
    old = ring.sealer(key_id=undo.key_id, run_id=undo.run_id, format_number=FORMAT)
    new = ring.sealer(key_id=ring.newest, run_id=undo.run_id, format_number=FORMAT)
    undo.sealed = new.seal(
        old.open(bytes(undo.sealed), kind=UNDO, number=place), kind=UNDO, number=place
    )
    if undo.outcome is not None:
        outcome = old.open(bytes(undo.outcome), kind=UNDO_OUTCOME, number=place)
        undo.outcome = new.seal(outcome, kind=UNDO_OUTCOME, number=place)
    undo.key_id = ring.newest
    undo.save(update_fields=["sealed", "outcome", "key_id"])


def _context(saga: Saga, _undo_id: int) -> None:
    ring = keyring()
    old = ring.sealer(key_id=saga.key_id, run_id=saga.id, format_number=FORMAT)
    kept = old.open(bytes(saga.context or b""), kind=CONTEXT, number=0)
    new = ring.sealer(key_id=ring.newest, run_id=saga.id, format_number=FORMAT)
    saga.context, saga.key_id = new.seal(kept, kind=CONTEXT, number=0), ring.newest
    saga.save(update_fields=["context", "key_id"])
