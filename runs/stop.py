"""Stop one run: a flag on its head that its next statement reads, wherever it is carried."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q

from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from liyagent.core.plain import clean_text
from runs.errors import RunEnded, no_run
from runs.models import ENDED, Run, RunStatus
from runs.wake import tell_queued

LONGEST_REASON = 500
AT_REST = (RunStatus.QUEUED, RunStatus.WAITING, RunStatus.PAUSED)
NOTHING: Mapping[str, str] = MappingProxyType({})
# The heads are locked from above, in the order of their ids. UNION, not UNION ALL: a row that somebody made its own
# ancestor ends the look.
BELOW = """
WITH RECURSIVE below(id) AS (
    SELECT id FROM runs_run WHERE correlation_id = %(correlation)s AND parent_id = %(run)s
    UNION
    SELECT r.id FROM runs_run r JOIN below ON r.parent_id = below.id AND r.correlation_id = %(correlation)s
), open AS (
    SELECT id FROM runs_run WHERE id IN (SELECT id FROM below) AND ended_at IS NULL AND NOT stop_requested
    ORDER BY id FOR NO KEY UPDATE
)
UPDATE runs_run r SET stop_requested = true, stopped_by = %(by)s, not_before = NULL,
        status = CASE WHEN r.status IN ('waiting', 'paused') THEN 'queued' ELSE r.status END
    FROM open WHERE r.id = open.id AND r.ended_at IS NULL
    RETURNING r.id
"""


def stop_run(*, run_id: UUID, actor: str, reason: str) -> Run:
    """Ask a run to stop. It ends as `stopped` at its next statement, its open marks settled by the rules.

    So do those that it handed work to, and it ends behind them. A run that waits, or is paused for its key, goes back to
    the queue for that, through the one door. Stopping twice is one stop.
    Raises `RunNotFound`, `RunEnded`, `BadInput`.
    """
    reason = clean_text(reason).strip()
    if not 0 < len(reason) <= LONGEST_REASON:
        raise BadInput(f"reason wants 1 to {LONGEST_REASON} characters: why the run is stopped")
    with transaction.atomic(durable=True):
        open_runs = Run.objects.filter(~Q(status__in=ENDED), id=run_id)
        changed = open_runs.filter(stop_requested=False).update(
            stop_requested=True, stopped_by=actor
        )
        open_runs.filter(status__in=AT_REST).update(status=RunStatus.QUEUED, not_before=None)
        transaction.on_commit(tell_queued)
        run = Run.objects.filter(id=run_id).first()
        if run is None:
            raise no_run(run_id)
        if run.is_ended:
            raise RunEnded(f"it ended as {run.status}", run_id=run_id)
        if changed:
            _record(run, actor=actor, reason=reason)
            for below in _stop_below(run, actor=actor):
                _record(below, actor=actor, reason=reason, told={"with": str(run.id)})
    return run


def _stop_below(run: Run, *, actor: str) -> list[Run]:
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"correlation": run.correlation_id, "run": run.id, "by": actor}
        found: list[UUID] = []
        # What one of them hands down meanwhile is found by the next look: once it is stopped it hands down nothing.
        while True:
            cursor.execute(BELOW, values)
            rows = cursor.fetchall()
            if not rows:
                break
            found += [row[0] for row in rows]
    return list(Run.objects.filter(id__in=found).defer("seal").order_by("id")) if found else []


def _record(run: Run, *, actor: str, reason: str, told: Mapping[str, str] = NOTHING) -> None:
    record(
        "agent.run.stop_requested",
        actor=actor,
        mission=run.mission,
        correlation_id=run.correlation_id,
        run_id=run.id,
        detail={"reason": reason, **told},
    )
