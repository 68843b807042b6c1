"""What a tool answered, made plain at the border (ruling 19), before the model, the seal and the event see it."""

from __future__ import annotations

from typing import Any

from liyagent.core.plain import NotStorable, to_plain
from liyagent.gateway.outcome import Fate, Outcome, Payload


def done(value: Any, payload: Payload) -> Outcome:
    """Return the outcome of a call that succeeded with `value`.

    A value that is too deep, larger than the tool's limit or not storable makes a read FAILED. A
    write stays DONE, since its effect happened, with `{"error": ...}` in place of the value.
    """
    try:
        return Outcome(fate=Fate.DONE, result=to_plain(value, limit_bytes=payload.limit_bytes))
    except NotStorable as error:
        return _not_kept(payload, error)


def failed(text: str, payload: Payload, *, by_tool: bool = False) -> Outcome:
    """Return the outcome of a call that did nothing, with the reason; `by_tool` where the tool itself says so."""
    try:
        said = to_plain(text, limit_bytes=payload.limit_bytes)
    except NotStorable as error:
        said = f"the tool failed; its reason could not be kept: {error}"
    return Outcome(fate=Fate.FAILED, error=said, by_tool=by_tool)


def in_doubt(reason: str, payload: Payload) -> Outcome:
    """Return UNKNOWN for a write that may have happened; a read has changed nothing, so FAILED."""
    fate = Fate.UNKNOWN if payload.is_write else Fate.FAILED
    return Outcome(fate=fate, error=str(to_plain(reason)))


def _not_kept(payload: Payload, error: NotStorable) -> Outcome:
    said = f"the answer of {payload.server}/{payload.tool} could not be kept: {error}"
    if not payload.is_write:
        return Outcome(fate=Fate.FAILED, error=said)
    return Outcome(fate=Fate.DONE, result={"error": f"the call was carried out, but {said}"})
