"""Results of calls in the very form that the model was told them: the record keeps them in the canonical one.

The order of keys and `5.0` for 5 say the same and are other words to a model: told otherwise than then, the unchanged agent
may answer otherwise too. The conversation is only asked for the form: what it says otherwise than the record is not served.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from liyagent.providers.types import Role
from liyagent.replays.drift import is_same
from liyagent.replays.recorded import RecordedCall

Messages = Sequence[Mapping[str, Any]]


def as_told(calls: Sequence[RecordedCall], messages: Messages) -> list[RecordedCall]:
    """Return the calls with results as they stand in the run's conversation, where that says the same."""
    told = dict(_results(messages))
    return [_in_form(it, told.get((it.step, it.index))) for it in calls]


def _results(messages: Messages) -> Iterator[tuple[tuple[int, int], str]]:
    """Each result with its step and place: behind the task, each answer of the model is a step, then come its results in order."""
    asked = max((at for at, it in enumerate(messages) if it["role"] == Role.USER), default=-1)
    step = index = 0
    for it in messages[asked + 1 :]:
        if it["role"] == Role.ASSISTANT:
            step, index = step + 1, 0
        elif it["role"] == Role.TOOL:
            yield (step, index), it["text"]
            index += 1


def _in_form(call: RecordedCall, text: str | None) -> RecordedCall:
    if text is None or isinstance(call.result, str):
        return call
    try:
        told = orjson.loads(text)
    except ValueError:
        return call
    return replace(call, result=told) if is_same(told, call.result) else call
