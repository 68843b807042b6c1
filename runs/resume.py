"""What a resume finds left by the attempt before, and how it tells of it before it does anything (CR-19)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from liyagent.gateway.outcome import Verdict
from runs import hot
from runs.checkpoint import Checkpoint
from runs.in_doubt import Settlement
from runs.models import Call as MarkedCall
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
    """Decide, for each call of the last step in order, how it is settled."""
    marks = scope.checkpoint.marks
    return [
        _left(scope, verdict, marks.get((scope.step, verdict.call.index))) for verdict in verdicts
    ]


def _left(scope: RunScope, verdict: Verdict, row: MarkedCall | None) -> Left:
    if row is None:
        return Left(verdict=verdict, row=None, settlement=Settlement.ROUTED)
    if row.fate:
        return Left(verdict=verdict, row=row, settlement=None)
    return Left(verdict=verdict, row=row, settlement=scope.plan(row, verdict))


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
