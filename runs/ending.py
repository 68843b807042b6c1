"""How a run ends with a model step that asks for no call (ruling 20)."""

from __future__ import annotations

from dataclasses import dataclass

from liyagent.providers.types import Finish, ModelAnswer
from runs.endings import EndError
from runs.models import RunStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What stands on the head of a run that ended, and its answer. `step` is the one that failed, "" where none has a name."""

    status: RunStatus
    reason: str = ""
    error: EndError = EndError.NONE
    answer: str = ""
    step: str = ""


def ending_of(answer: ModelAnswer) -> Ending:
    """Return the ending that a last answer is: an empty one, a cut one and a refusal are outcomes of their own."""
    if answer.finish is Finish.REFUSED:
        return Ending(
            status=RunStatus.DECLINED,
            reason="the model refused",
            error=EndError.DECLINED,
            answer=answer.text,
        )
    if answer.finish is Finish.CUT:
        return Ending(
            status=RunStatus.FAILED,
            reason="the model's answer was cut at its token limit",
            error=EndError.ANSWER_CUT,
            answer=answer.text,
        )
    if not answer.text.strip():
        return failed(EndError.ANSWER_EMPTY, "the model's answer was empty")
    return Ending(status=RunStatus.ANSWERED, answer=answer.text)


def failed(error: EndError, reason: str) -> Ending:
    """Return the ending of a run that may not go on."""
    return Ending(status=RunStatus.FAILED, reason=reason, error=error)


class MayNotGoOn(Exception):
    """The run ends where it stands."""

    def __init__(self, ending: Ending) -> None:
        """`ending` is what it ends as."""
        super().__init__(ending.reason)
        self.ending = ending


class HandedBack(Exception):
    """The run went back to the queue, or waits: the process drains, or what it needs has still to come."""
