"""The earlier turns of a conversation, from the answers that are kept, newest first until there is enough."""

from __future__ import annotations

from uuid import UUID

from liyagent.core.errors import LiyagentError
from liyagent.entry.teams.models import TeamsTurn
from liyagent.entry.teams.words import ENDED, NOT_RECORDED
from liyagent.transcripts.models import Transcript
from runs.checkpoint import START, sealer_of
from runs.finish import TRANSCRIPT
from runs.models import ENDED as ENDED_STATUSES
from runs.models import Part, Run, RunStatus

MOST_TURNS = 20
MOST_CHARACTERS = 40_000


def history_of(bot_key: str, conversation: str) -> list[dict[str, str]]:
    """Return what was said before, oldest first, as a run takes it: at most 20 turns and 40,000 characters.

    A turn that goes on still, or whose words cannot be opened, is left out; what a person said where words are not
    recorded is told as that.
    """
    turns = TeamsTurn.objects.filter(bot_key=bot_key, conversation=conversation)
    ids = list(turns.order_by("-run_id").values_list("run_id", flat=True)[:MOST_TURNS])
    runs = Run.objects.filter(id__in=ids, status__in=ENDED_STATUSES).defer("seal").in_bulk()
    answers = Transcript.objects.in_bulk([it for it in ids if it in runs])
    asked = {it.run_id: it for it in Part.objects.filter(run_id__in=runs, number=0)}
    history: list[dict[str, str]] = []
    left = MOST_CHARACTERS
    for run_id in ids:
        said = _said(runs.get(run_id), answers.get(run_id), asked.get(run_id))
        left -= sum(len(it["text"]) for it in said)
        if left < 0:
            break
        history = [*said, *history]
    return history


def _said(run: Run | None, kept: Transcript | None, first: Part | None) -> list[dict[str, str]]:
    """The two sides of one turn; nothing of one that is not over, or not readable."""
    if run is None or kept is None:
        return []
    try:
        sealer = sealer_of(run)
        answer = sealer.open(bytes(kept.sealed), kind=TRANSCRIPT, number=0)["answer"]
        task = NOT_RECORDED
        if first is not None:
            task = sealer.open(bytes(first.sealed), kind=START, number=0)["task"]
    except LiyagentError:
        return []
    if not answer:
        if run.status == RunStatus.ANSWERED:
            return []
        answer = ENDED[RunStatus(run.status)]
    return [{"role": "user", "text": task}, {"role": "assistant", "text": answer}]


def turn_of(run_id: UUID) -> TeamsTurn | None:
    """Return the turn that a run is, None where it is none."""
    return TeamsTurn.objects.filter(run_id=run_id).first()
