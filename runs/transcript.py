"""What was said in a run, opened for one who may read it."""

from __future__ import annotations

from typing import Any

from liyagent.core.seal import KeyMissing, SealBroken, tag_of
from liyagent.transcripts.models import Transcript
from runs.checkpoint import sealer_of
from runs.conversation import messages_of
from runs.finish import TRANSCRIPT, told_message
from runs.models import Part, Run


def read_transcript(run: Run) -> dict[str, Any]:
    """Return `messages`, `answer` (None before the end), `reason` (why it ended, if with none) and `is_complete`.

    A run's words are what its parts hold, and once it ended what came after them; of an ended one recorded as
    metadata the answer alone. Raises `KeyMissing` where its key is not on the ring, `SealBroken`, also where parts
    are missing. `run` is read anew where it ended, or was sealed anew, since it was read.
    """
    seen = run.status, run.key_id
    try:
        return _read(run)
    except (KeyMissing, SealBroken):
        run.refresh_from_db()
        if (run.status, run.key_id) == seen:
            raise
        return _read(run)


def task_of(run: Run) -> str:
    """Return what a run was asked, empty where it is not kept or cannot be opened here. Nothing else of it is opened."""
    part = Part.objects.filter(run_id=run.id, number=0).first()
    if part is None:
        return ""
    try:
        start = sealer_of(run).open(bytes(part.sealed), kind=part.kind, number=0, previous=b"")
    except (KeyMissing, SealBroken):
        return ""
    task: str = start["task"]
    return task


def messages_kept(run: Run) -> list[dict[str, Any]]:
    """Return the conversation of an ended run as far as it is kept, empty where it is not. Raises as `read_transcript`.

    Of a run whose end could not open it (a third loss) the parts alone tell.
    """
    return read_transcript(run)["messages"] or (
        _told(run, count=None) if Part.objects.filter(run_id=run.id).exists() else []
    )


def _read(run: Run) -> dict[str, Any]:
    kept = Transcript.objects.filter(run_id=run.id).first()
    if kept is not None:
        told = sealer_of(run).open(bytes(kept.sealed), kind=TRANSCRIPT, number=0)
        return {
            "messages": [*_told(run, count=told["parts"]), *told["after_parts"]]
            if "after_parts" in told
            else told["messages"],
            "answer": told["answer"],
            "reason": told.get("reason", run.reason),
            "is_complete": True,
        }
    if run.is_ended:
        return {"messages": [], "answer": None, "reason": run.reason, "is_complete": True}
    return {"messages": _told(run, count=None), "answer": None, "reason": "", "is_complete": False}


def _told(run: Run, *, count: int | None) -> list[dict[str, Any]]:
    """What the parts tell: the `count` that the end told of, or all of a run that has not ended."""
    parts = _parts(run)
    if not parts or len(parts) != (count or len(parts)):
        raise SealBroken(f"{len(parts)} parts of run {run.id} are stored, which are not all")
    return [told_message(it) for it in messages_of(parts, instructions="")]


def _parts(run: Run) -> list[Any]:
    sealer = sealer_of(run)
    opened: list[Any] = []
    last_tag = b""
    for part in Part.objects.filter(run_id=run.id).order_by("number"):
        sealed = bytes(part.sealed)
        opened.append(sealer.open(sealed, kind=part.kind, number=part.number, previous=last_tag))
        last_tag = tag_of(sealed)
    return opened
