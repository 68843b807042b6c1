"""What would be undone: by a Stop now, or by the next round; looked at, and nothing written (SG-05, ruling 43)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from liyagent.core.seal import KeyMissing, SealBroken
from missions.places import behind
from runs.checkpoint import sealer_of
from runs.compensate import TO_TRY
from runs.errors import no_run
from runs.failed_saga import on_failure_of, undoes_on_stop
from runs.models import Part, Run
from sagas.models import Saga, SagaStatus, Undo, UndoFate

MOST = 200
BATCH = 200


def preview_undo(run_id: UUID, *, most: int = MOST) -> list[Undo]:
    """Return what a Stop of this run now would undo, newest first, at most so many; none of their words.

    Nothing for a run that ended, for one below another (its parent takes its end), and where its workflow says that a Stop
    keeps what was done. What it does until it stops comes on top. Raises `RunNotFound`.
    """
    run = Run.objects.filter(id=run_id).first()
    if run is None:
        raise no_run(run_id)
    if run.is_ended or run.parent_id is not None or not undoes_on_stop(_on_failure(run)):
        return []
    return list(_undos(run.id, (UndoFate.OWED,))[:most])


def to_try(saga_id: UUID, *, most: int = MOST) -> list[Undo]:
    """Return what the next round would undo, newest first, at most so many; none of their words."""
    return list(_undos(saga_id, TO_TRY)[:most])


def sagas_owed() -> Iterator[Saga]:
    """Go through the sagas that were tried, with something owed or failed, and nobody at it: the newest first.

    One whose definition keeps what was done is none of them.
    """
    left = Undo.objects.filter(saga_id=OuterRef("id"), fate__in=TO_TRY)
    rows = Saga.objects.filter(status=SagaStatus.PARTIAL).order_by("-created_at", "-id")
    after = Q()
    while True:
        found = list(rows.filter(after).annotate(is_left=Exists(left)).defer("context")[:BATCH])
        yield from (it for it in found if it.is_left)
        if len(found) < BATCH:
            return
        after = behind(found[-1].created_at, found[-1].id, moment="created_at")


def _undos(saga_id: UUID, fates: tuple[UndoFate, ...]) -> QuerySet[Undo]:
    rows = Undo.objects.filter(saga_id=saga_id, fate__in=fates).order_by("-order")
    return rows.defer("sealed", "outcome")


def _on_failure(run: Run) -> dict[str, Any]:
    """What its workflow says of failures; nothing where that cannot be opened here, as at its end."""
    part = Part.objects.filter(run_id=run.id, number=0).first() if run.workflow else None
    if part is None:
        return {}
    try:
        return on_failure_of(sealer_of(run).open(bytes(part.sealed), kind=part.kind, number=0))
    except (KeyMissing, SealBroken):
        return {}
