"""What is kept of the outcome of a step's call, exactly: another process reads it as this one did."""

from __future__ import annotations

import json
from typing import Any

from liyagent.core.plain import json_bytes
from liyagent.core.templates import as_data
from liyagent.gateway.outcome import Fate, Outcome
from liyagent.providers.types import Message, Role
from liyagent.workflows.course import Came, Result

CAME = {
    Fate.DONE: Came.DONE,
    Fate.FAILED: Came.FAILED,
    Fate.REFUSED: Came.REFUSED,
    Fate.HELD: Came.HELD,
    Fate.UNKNOWN: Came.UNKNOWN,
}


def message_of(call_id: str, outcome: Outcome) -> Message:
    """Return an outcome as it stands in the run's conversation: a result of 123 and one of "123" differ."""
    kept = {"fate": outcome.fate.value, "result": outcome.result, "error": outcome.error}
    text = json_bytes(kept).decode()
    is_error = outcome.fate is not Fate.DONE
    return Message(role=Role.TOOL, call_id=call_id, text=text, is_error=is_error)


def result_of(text: str) -> Result:
    """Return what came of a step, as `message_of` kept it; an object or list that a tool told as text is read as such."""
    kept: dict[str, Any] = json.loads(text)
    came = CAME[Fate(kept["fate"])]
    error = kept["error"] or ("" if came is Came.DONE else f"it was {came}")
    return Result(came=came, output=as_data(kept["result"]), error=error)
