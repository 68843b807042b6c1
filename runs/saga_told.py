"""What a person has to know of a saga, in words: what was not undone before all else (SG-08)."""

from __future__ import annotations

from typing import Any

from django.db.models import F, Func, IntegerField, QuerySet

from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.tickets.body import fitted
from runs.checkpoint import keyring
from runs.errors import CheckpointBroken
from runs.failed_saga import AGAIN, CONTEXT
from runs.marks import place_of
from runs.models import Run
from runs.undo_ride import FORMAT, UNDO_OUTCOME, open_undo, sealer_of_undo
from runs.unknown import unknown_calls
from sagas.models import Saga, Undo, UndoFate

MOST_UNDOS, MOST_UNKNOWN = 200, 100
# Arguments of more than this are named by their size: an undo has up to 4 MiB of them.
LARGEST_SHOWN = 16 << 10
LEFT_OUT = "not shown here: {size:,} bytes"
NOT_OPENED = "cannot be opened here: {why}"
FACTS = ("order", "run_id", "step", "index", "fate", "tries", "note")
UNKNOWN_FACTS = ("run_id", "step", "index", "server", "tool", "step_key", "late_finding")


def context_of(saga: Saga) -> dict[str, Any]:
    """Return what was kept of the run as it ended, `{}` where nothing was. Raises `KeyMissing`, `SealBroken`."""
    if saga.context is None:
        return {}
    sealer = keyring().sealer(key_id=saga.key_id, run_id=saga.id, format_number=FORMAT)
    kept: dict[str, Any] = sealer.open(bytes(saga.context), kind=CONTEXT, number=0)
    return kept


def hand_off_body(saga: Saga, root: Run) -> dict[str, Any]:
    """Return all that is put before a person, of 1 MiB at the most: what stands not undone first, then all else.

    What cannot be opened here is told as that: a hand-off is filed once, and not to be missed for want of a key.
    """
    rows = Undo.objects.filter(saga_id=saga.id)
    shown, left, counted = _undos(rows)
    unknown = unknown_writes(saga)
    body = {
        "not_undone": [told_of_undo(it) for it in left],
        "writes_of_unknown_outcome": unknown[:MOST_UNKNOWN],
        "run": {"id": str(root.id), "agent": root.agent_key, "workflow": root.workflow, "status": root.status},
        "error": root.reason,
        **_context(saga),
        "undos": [told_of_undo(it, with_args=False) for it in shown],
        "counted": {
            **counted,
            "of_each_shown_at_most": MOST_UNDOS,
            "more_of_unknown_outcome": len(unknown) > MOST_UNKNOWN,
        },
    }  # fmt: skip
    kept = fitted(body)
    return kept if isinstance(kept, dict) else {"all": kept}


def _undos(rows: QuerySet[Undo]) -> tuple[list[Undo], list[Undo], dict[str, int]]:
    """The newest, the newest of those that are not made, and how many of both there are; few are read once."""
    shown = with_words(rows)
    if len(shown) < MOST_UNDOS:
        left = [it for it in shown if it.fate != UndoFate.DONE]
        return shown, left, {"undos": len(shown), "not_undone": len(left)}
    of_left = rows.exclude(fate=UndoFate.DONE)
    counted = {"undos": rows.count(), "not_undone": of_left.count()}
    return shown, with_words(of_left), counted


def unknown_writes(saga: Saga) -> list[dict[str, Any]]:
    """Return the writes of the family of which nobody knows whether they took effect, newest first, one more than 100."""
    found = unknown_calls().filter(correlation_id=saga.id).order_by("-id")
    return [
        {**it, "run_id": str(it["run_id"])}
        for it in found.values(*UNKNOWN_FACTS)[: MOST_UNKNOWN + 1]
    ]


def with_words(rows: QuerySet[Undo], *, most: int = MOST_UNDOS) -> list[Undo]:
    """Return undos, newest first, with `size` of their sealed words, and those words where they are small."""
    size = Func(F("sealed"), function="octet_length", output_field=IntegerField())
    found: list[Undo] = list(
        rows.defer("sealed", "outcome").annotate(size=size).order_by("saga_id", "-order")[:most]
    )
    small = [it.pk for it in found if _size(it) <= LARGEST_SHOWN]
    words = {
        it.pk: it
        for it in Undo.objects.filter(pk__in=small).only("id", "key_id", "sealed", "outcome")
    }
    for it in found:
        if it.pk in words:
            it.key_id, it.sealed, it.outcome = (
                words[it.pk].key_id,
                words[it.pk].sealed,
                words[it.pk].outcome,
            )
    return found


def told_of_undo(undo: Undo, *, with_args: bool = True, opens: bool = True) -> dict[str, Any]:
    """Return what is told of an undo (of `with_words`): its facts, and where it `opens` words those of `words_of`."""
    told = {name: getattr(undo, name) for name in FACTS}
    told |= {
        "run_id": str(undo.run_id),
        "write": f"{undo.of_server}/{undo.of_tool}",
        "undo": f"{undo.server}/{undo.tool}",
        "approval": str(undo.approval) if undo.approval else "",
    }
    return {**told, **words_of(undo, with_args=with_args)} if opens else told


def words_of(undo: Undo, *, with_args: bool = True) -> dict[str, Any]:
    """Return `args`, as far as they are asked for, and `error`: what was answered last, "" where it was not an error."""
    if (size := _size(undo)) > LARGEST_SHOWN:
        return {"args": LEFT_OUT.format(size=size)} if with_args else {}
    try:
        args = {"args": open_undo(undo)["args"]} if with_args else {}
        return {**args, "error": _error_of(undo)}
    except (KeyMissing, SealBroken, CheckpointBroken) as error:
        return {"error": NOT_OPENED.format(why=error)}


def _size(undo: Undo) -> int:
    """As `with_words` brought it along."""
    size: int = undo.__dict__["size"]
    return size


def _error_of(undo: Undo) -> str:
    if undo.outcome is None or undo.fate == UndoFate.DONE:
        return ""
    place = place_of(undo.step, undo.index)
    error: str = sealer_of_undo(undo).open(bytes(undo.outcome), kind=UNDO_OUTCOME, number=place)[
        "error"
    ]
    return error


def _context(saga: Saga) -> dict[str, Any]:
    try:
        kept = context_of(saga)
    except (KeyMissing, SealBroken) as error:
        return {"words": NOT_OPENED.format(why=error)}
    if not kept:
        return {
            "words": "its run could not be opened as it ended: what it was asked is not kept here"
        }
    return {name: value for name, value in kept.items() if name != AGAIN}
