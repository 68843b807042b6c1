"""What was asked in a turn, sealed and opened; what its run answered."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from liyagent.core.errors import LiyagentError
from liyagent.entry.copilot.models import Turn
from liyagent.entry.models import Arrival
from runs.checkpoint import keyring
from runs.head import answer_of
from runs.models import CHECKPOINT_FORMAT, Run

ASKED = "copilot turn"
GONE = "its words are not kept any more"


def seal_asked(run_id: UUID, text: str) -> tuple[bytes, str]:
    """Return what a turn asks, sealed under its run's key, and the id of the key."""
    ring = keyring()
    sealer = ring.sealer(key_id=ring.newest, run_id=run_id, format_number=CHECKPOINT_FORMAT)
    return sealer.seal({"task": text}, kind=ASKED, number=0), ring.newest


def asked_in(turn: Turn) -> str | None:
    """Return what a turn asked, None where it is not kept any more or cannot be opened here."""
    if turn.sealed is None:
        return None
    sealer = keyring()
    try:
        opened = sealer.sealer(
            key_id=turn.key_id, run_id=turn.run_id, format_number=CHECKPOINT_FORMAT
        ).open(bytes(turn.sealed), kind=ASKED, number=0)
    except LiyagentError:
        return None
    task: str = opened["task"]
    return task


def words_of(turn: Turn, run: Run | None) -> dict[str, Any]:
    """Return `task`, `answer` (None before the end, or without one) and `answer_missing` where it cannot be opened."""
    task = asked_in(turn)
    told: dict[str, Any] = {"task": task, "answer": None}
    if run is not None:
        told |= answer_of(run)
        told["answer"] = told["answer"] or None
    if task is None:
        told.setdefault("answer_missing", GONE)
    return told


def why_refused(turn: Turn) -> str:
    """Return why nothing was started of a turn, empty where it was."""
    found = Arrival.objects.filter(run_id=turn.run_id).values_list("reason", flat=True).first()
    return (found or "") if turn.outcome == "refused" else ""
