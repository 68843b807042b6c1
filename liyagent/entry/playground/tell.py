"""What the watching page says of a run at this moment, in a person's words."""

from __future__ import annotations

from typing import Any

from runs.go_on import continuations_of, may_be_continued
from runs.models import Run, RunStatus
from runs.run_page import STEPS_A_PAGE, answer_shown, page_of
from runs.states import status_pill

SAID = {
    RunStatus.QUEUED: "It is queued: the next process with a free place takes it.",
    RunStatus.RUNNING: "It works.",
    RunStatus.WAITING: "It waits, and holds no process. It goes on by itself.",
    RunStatus.PAUSED: "It is paused: its sealing key is missing. It goes on once the key is back.",
    RunStatus.ANSWERED: "It has answered.",
    RunStatus.DECLINED: "The model refused to answer.",
    RunStatus.FAILED: "It failed.",
    RunStatus.STOPPED: "It was stopped.",
    RunStatus.INTERRUPTED: "Its process died, and nothing of it runs again.",
}
STOPPING = "It was asked to stop, and does at its next statement."
TAKEN_OVER = " Its process was lost, and another goes on with it."


def now_told(run: Run, *, with_words: bool, with_answer: bool) -> dict[str, Any]:
    """Return what the page shows: a sentence, the answer, and the latest steps with their calls."""
    answer, no_answer = answer_shown(run) if with_answer and run.is_ended else ("", "")
    return {
        "state": status_pill(run.status),
        "said": _said(run),
        "answer": answer,
        "no_answer": no_answer,
        "with_answer": with_answer,
        "with_words": with_words,
        "page": page_of(run, _last_page(run), with_words=with_words),
        "may_go_on": may_be_continued(run),
        "continued_by": continuations_of(run) if run.is_ended else [],
    }


def _said(run: Run) -> str:
    if run.stop_requested and not run.is_ended:
        return STOPPING
    said = SAID[RunStatus(run.status)]
    return said + (TAKEN_OVER if run.losses and not run.is_ended else "")


def _last_page(run: Run) -> int:
    return max(1, -(-run.model_steps // STEPS_A_PAGE))
