"""What files a ticket elsewhere: one step with one call, fixed when the run was begun (SG-09)."""

from __future__ import annotations

from typing import Any

from liyagent.core.plain import json_bytes
from liyagent.gateway.outcome import Call, Fate, Outcome
from liyagent.providers.types import Finish, ModelAnswer, ToolCall
from runs.attempt import Attempt
from runs.authority import AgentNow
from runs.conversation import Pending, messages_of
from runs.ending import Ending, failed
from runs.endings import EndError
from runs.manner import Manner
from runs.mind import Mind
from runs.models import RunStatus
from runs.outside_ticket import KEY, SENT
from runs.scope import RunScope
from runs.step import count_step
from runs.tell_start import tell_start
from sagas.declare import Declared

CALL_ID = "ticket"
# What a vendor calls what it made, in the order in which it is looked for.
NAMES = ("number", "key", "id", "ticket", "sys_id")
LONGEST_ID = 100


class TicketScope(RunScope):
    """One call, keyed from the saga that it is filed for, and undone by nothing."""

    def step_key(self, call: Call) -> str:
        """Return the ticket's key, however often it is sent."""
        self.keys[call.index] = self.checkpoint.parts[0][KEY]
        return self.keys[call.index]

    def declare(self, call: Call) -> Declared | None:
        """A person works on it."""
        return None

    def _has_identity(self, call: Call) -> bool:
        return True


class TicketManner(Manner):
    """One that is held is waited for: until it is decided nothing is filed, and rejected it is filed here."""

    may_wait = True

    def scope(self, checkpoint: Any, pending: Pending) -> RunScope:
        """Return the scope of the call."""
        return TicketScope(checkpoint, step=pending.step, step_ids=[it.id for it in pending.calls])


class TicketMind(Mind):
    """Has one step, its call, and ends with what came of it."""

    def __init__(self, attempt: Attempt) -> None:
        attempt.manner = TicketManner()
        self._attempt = attempt

    def begin(self, agent: AgentNow) -> None:
        """Take up what was written."""
        attempt = self._attempt
        tell_start(attempt.checkpoint, holder=attempt.carrier.holder)
        attempt.messages = messages_of(attempt.checkpoint.parts, instructions="")
        attempt.kept = len(attempt.messages)

    def next(self) -> ModelAnswer | Ending:
        """Return the call, or how the run ends with it."""
        checkpoint, outcome = self._attempt.checkpoint, self._attempt.last
        if outcome is not None:
            return _ending(outcome, checkpoint.parts[0][KEY])
        self._attempt.may_go_on()
        sent = checkpoint.parts[0][SENT]
        call = ToolCall(id=CALL_ID, name=sent["name"], arguments_text="", args=sent["args"])
        answer = ModelAnswer(text="", calls=(call,), finish=Finish.CALLS)
        count_step(checkpoint, answer, model="")
        return answer


def _ending(outcome: Outcome, key: str) -> Ending:
    if outcome.fate is Fate.DONE:
        return Ending(status=RunStatus.ANSWERED, answer=_id_of(outcome.result, key))
    told = outcome.error or f"the call was {outcome.fate.value}"
    return failed(EndError.APPROVED_CALL, told)


def _id_of(result: Any, key: str) -> str:
    """What the other system calls the ticket, as far as its answer says so; else the beginning of that. Our key is no name."""
    found = result
    if isinstance(result, dict):
        named = [result[it] for it in NAMES if isinstance(result.get(it), str | int)]
        found = next((it for it in named if it != key), result)
    text = found if isinstance(found, str) else json_bytes(found).decode()
    return text[:LONGEST_ID] or CALL_ID
