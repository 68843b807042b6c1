"""A turn as it is shown: where its run stands, and its words to whom they may be told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from liyagent.entry.copilot.conversations import Person
from liyagent.entry.copilot.models import Conversation, Turn
from liyagent.entry.copilot.words import why_refused, words_of
from runs.api import url_of
from runs.models import Run


def turns_told(
    conversation: Conversation, turns: Sequence[Turn], person: Person
) -> list[dict[str, Any]]:
    """Return turns with their answers; words for the owner and who may read words alone."""
    runs = Run.objects.defer("seal").in_bulk([it.run_id for it in turns])
    with_words = person.reads_words or person.username == conversation.owner
    return [_told(it, runs.get(it.run_id), with_words=with_words) for it in turns]


def _told(turn: Turn, run: Run | None, *, with_words: bool) -> dict[str, Any]:
    return {
        "number": turn.number,
        "run_id": str(turn.run_id),
        "status": turn.outcome or (run.status if run else "received"),
        "reason": run.reason if run else why_refused(turn),
        "asked_at": turn.asked_at,
        "ended_at": run.ended_at if run else turn.ended_at,
        "given": turn.given,
        "left_out": turn.left_out,
        **(words_of(turn, run) if with_words else {}),
        "run_url": url_of(turn.run_id),
    }
