"""The conversation of a run, folded from its checkpoint parts; and its parts, made from what a step added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from liyagent.gateway.outcome import Fate, Outcome
from liyagent.providers.types import Finish, Message, ModelAnswer, Role, ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """The last model step, whose calls are still to be carried out. `step` counts from 1."""

    step: int
    calls: tuple[ToolCall, ...]
    was_cut: bool


def start_part(*, task: str, history: list[dict[str, str]], run: dict[str, Any]) -> dict[str, Any]:
    """Return the first part: what the run was asked, the earlier turns it was given, and as whose run it began."""
    return {"task": task, "history": history, "run": run}


def step_part(answer: ModelAnswer, results: list[Message]) -> dict[str, Any]:
    """Return what a model step added: the results it was given and its answer, raw argument text kept."""
    return {
        "results": [
            {"text": it.text, "call_id": it.call_id, "is_error": it.is_error} for it in results
        ],
        "text": answer.text,
        "finish": answer.finish.value,
        "calls": [
            {"id": it.id, "name": it.name, "arguments_text": it.arguments_text, "args": it.args}
            for it in answer.calls
        ],
    }


def messages_of(parts: list[Any], *, instructions: str) -> list[Message]:
    """Return the conversation that the parts tell, without results of the last step's calls."""
    start = parts[0]
    messages = [Message(role=Role.SYSTEM, text=instructions)] if instructions else []
    messages += [Message(role=Role(it["role"]), text=it["text"]) for it in start["history"]]
    messages.append(Message(role=Role.USER, text=start["task"]))
    for part in parts[1:]:
        messages += [
            Message(role=Role.TOOL, text=it["text"], call_id=it["call_id"], is_error=it["is_error"])
            for it in part["results"]
        ]
        messages.append(
            Message(role=Role.ASSISTANT, text=part["text"], calls=_calls(part["calls"]))
        )
    return messages


def pending_of(parts: list[Any]) -> Pending | None:
    """Return the last step's calls, None before the first step."""
    if len(parts) < 2:
        return None
    last = parts[-1]
    return Pending(
        step=len(parts) - 1,
        calls=_calls(last["calls"]),
        was_cut=last["finish"] == Finish.CUT.value,
    )


def result_message(call_id: str, outcome: Outcome) -> Message:
    """Return what the model is told of the call that it gave this id."""
    if outcome.fate is Fate.DONE:
        return Message(role=Role.TOOL, call_id=call_id, text=_as_text(outcome.result))
    text = outcome.error or _as_text(outcome.result) or f"The call was {outcome.fate.value}."
    return Message(role=Role.TOOL, call_id=call_id, text=text, is_error=True)


def _calls(stored: list[dict[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(**it) for it in stored)


def _as_text(result: Any) -> str:
    if isinstance(result, str):
        return result
    try:
        return orjson.dumps(result).decode()
    except TypeError:
        return str(result)
