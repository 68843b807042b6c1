"""What a resume finds left by the attempt before, and how it tells of it before it does anything (CR-19)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.conf import settings

from liyagent.gateway.call import prepare
from liyagent.gateway.outcome import Outcome, Posture, Verdict
from runs import hot
from runs.checkpoint import Checkpoint
from runs.dispatch import scope_for
from runs.errors import LostLease
from runs.in_doubt import Settlement, counts_as_marked
from runs.models import Call as MarkedCall
from runs.models import Run, RunStatus
from runs.scope import RunScope

KEPT = "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A call of the last step: its verdict now, its mark if it was marked, and how it is settled."""

    verdict: Verdict
    row: MarkedCall | None
    settlement: Settlement | None

    @property
    def told(self) -> str:
        """Its settlement in words: `kept` where its outcome had been stored."""
        return self.settlement.value if self.settlement is not None else KEPT


def left_by(scope: RunScope, verdicts: Sequence[Verdict]) -> list[Left]:
    """Decide, for each call of the last step in order, how it is settled.

    A mark that a failover may have lost is made again first, so that all that follows finds it (ruling 40).
    """
    return [_left(scope, verdict) for verdict in verdicts]


def _left(scope: RunScope, verdict: Verdict) -> Left:
    checkpoint, call = scope.checkpoint, verdict.call
    row = checkpoint.marks.get((scope.step, call.index))
    if row is None and counts_as_marked(
        has_failed_over=checkpoint.has_failed_over,
        is_write=call.writes,
        # The mark of work handed down is one commit with the child: where it is lost, nothing was handed down.
        could_be_sent=call.contract is not None
        and not call.problem
        and not call.contract.is_delegation,
    ):
        verdict, row = _marked_again(scope, verdict)
    if row is None:
        return Left(verdict=verdict, row=None, settlement=Settlement.ROUTED)
    if row.fate:
        return Left(verdict=verdict, row=row, settlement=None)
    return Left(verdict=verdict, row=row, settlement=scope_for(scope, row).plan(row, verdict))


def _marked_again(scope: RunScope, verdict: Verdict) -> tuple[Verdict, MarkedCall | None]:
    """Mark a call that may have been sent before the failover; nothing is sent here.

    What the mark is told forbids a sending now leaves it to be read back. No row where an earlier call of
    the same intent is unknown: this one was refused for that then, and is again.
    """
    checkpoint, call = scope.checkpoint, verdict.call
    _let_old_senders_run_out(checkpoint)
    payload = prepare(call, scope.step_key(call))
    told = scope.mark_sending(verdict, payload, made_after=checkpoint.run.created_at)
    place = (scope.step, call.index)
    if place not in checkpoint.open_marks:
        return verdict, None
    row = MarkedCall.objects.get(run_id=checkpoint.run_id, step=scope.step, index=call.index)
    checkpoint.marks[place] = row
    if isinstance(told, Outcome):
        verdict = replace(verdict, posture=Posture.REFUSED, reason=told.error)
    return verdict, row


def _let_old_senders_run_out(checkpoint: Checkpoint) -> None:
    """A mark that was lost bore a deadline of a lease at the most from before the failover: read back after it.

    Raises `LostLease`.
    """
    run = checkpoint.run
    until = checkpoint.now + timedelta(seconds=settings.LIYAGENT.lease_seconds)
    if run.settle_after is not None and run.settle_after >= until:
        return
    mine = Run.objects.filter(id=run.id, attempt=run.attempt, status=RunStatus.RUNNING)
    if not mine.update(settle_after=until):
        raise LostLease(run_id=run.id, attempt=run.attempt)
    run.settle_after = until


def record_resume(checkpoint: Checkpoint, left: Sequence[Left], *, step: int, holder: str) -> None:
    """Audit a resume once a loss, and put it into the run's events, before a call is made or the model asked."""
    run = checkpoint.run
    if run.resumes_recorded >= run.losses:
        return
    facts: dict[str, Any] = {
        "attempt": run.attempt,
        "step": step,
        "losses": run.losses,
        "cause": run.last_loss,
        "holder": holder,
        "calls": [
            {"index": it.verdict.call.index, "call": it.verdict.call.name, "settlement": it.told}
            for it in left
        ],
    }
    checkpoint.events.add("run.resumed", **facts)
    told = hot.flush(
        checkpoint.next_fence(),
        seal=checkpoint.head_seal(),
        resumes=run.losses,
        audit=hot.Audit(action="agent.run.crash_resumed", detail=facts),
        events=checkpoint.events.taken(),
        give_up=checkpoint.give_up,
    )
    checkpoint.events.clear()
    checkpoint.written(told)
    run.resumes_recorded = run.losses
