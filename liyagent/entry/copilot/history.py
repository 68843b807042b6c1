"""What a run is told of the turns before: the latest that fit, oldest first, and how many were left out."""

from __future__ import annotations

from dataclasses import dataclass

from liyagent.entry.copilot.models import Conversation, Turn
from liyagent.entry.copilot.words import words_of
from runs.models import Run
from runs.start import LONGEST_TASK

# The latest that fit both; what a start takes is more turns, and just so many characters (runs/start).
MOST_TURNS = 50
ROOM_FOR_A_NOTE = 200
MOST_CHARACTERS = LONGEST_TASK - ROOM_FOR_A_NOTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The turns as a start takes them, of how many of ours they are, and how many were left out."""

    history: list[dict[str, str]]
    given: int
    left_out: int


def turns_before(conversation: Conversation) -> Before:
    """Return what was said before in a conversation, each turn with its answer, or with how it ended.

    Where the oldest are left out, the first that is told says so.
    """
    rows = Turn.objects.filter(conversation=conversation, ended_at__isnull=False)
    latest = list(rows.order_by("-number")[:MOST_TURNS])
    runs = Run.objects.defer("seal").in_bulk([it.run_id for it in latest])
    history: list[dict[str, str]] = []
    left, given = MOST_CHARACTERS, 0
    for turn in latest:
        said = _said(turn, runs.get(turn.run_id))
        left -= sum(len(it["text"]) for it in said)
        if not said or left < 0:
            break
        history = [*said, *history]
        given += 1
    left_out = conversation.turns - given
    if history and left_out:
        note = f"({left_out} earlier turns of this conversation are left out.)\n\n"
        history[0] = {**history[0], "text": note + history[0]["text"]}
    return Before(history=history, given=given, left_out=left_out)


def _said(turn: Turn, run: Run | None) -> list[dict[str, str]]:
    words = words_of(turn, run)
    if words["task"] is None:
        return []
    answer = words["answer"] or f"(This turn ended without an answer: {turn.outcome}.)"
    return [{"role": "user", "text": words["task"]}, {"role": "assistant", "text": str(answer)}]
