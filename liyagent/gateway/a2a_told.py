"""What an agent answered, as a tool's result: the same from either version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from liyagent.gateway.fates import REFUSED_CODES, fate_by
from liyagent.gateway.outcome import Fate, Outcome, Payload
from liyagent.gateway.results import done, failed

# The protocol's own refusals, each before anything began; -32006 says that the agent's answer was no good.
REFUSALS = REFUSED_CODES | {-32001, -32002, -32003, -32004, -32005, -32007, -32008, -32009}
UNDONE = frozenset({"failed", "rejected", "canceled"})
GOING = frozenset({"submitted", "working", "unspecified"})
STATE = "TASK_STATE_"


def judge(status: int, answer: Any, payload: Payload) -> Outcome:
    """Return the fate of a message by its answer: DONE with the protocol's own result, whatever became of its task."""
    return fate_by(status, answer, payload, refused=REFUSALS, of_result=_taken)


def outcome_of(told: dict[str, Any], payload: Payload) -> Outcome:
    """Return the outcome of a message that was taken, from what its task came to."""
    if told["state"] in UNDONE:
        said = told.get("says") or told.get("answer") or "it said nothing"
        return failed(f"task {told.get('task')} {told['state']}: {said}", payload, by_tool=True)
    outcome = done(told, payload)
    if outcome.fate is Fate.DONE and "state" not in outcome.result:
        brief = {name: told[name] for name in ("state", "task", "context") if name in told}
        return done({**brief, **outcome.result}, payload)
    return outcome


def task_told(task: Any) -> dict[str, Any]:
    """Return a task of the SDK's as a result: its state, its answer in words and data, what it says of itself."""
    from a2a.types import TaskState  # noqa: PLC0415 - see a2a_card.read_card

    state = TaskState.Name(task.status.state).removeprefix(STATE).lower().replace("_", "-")
    answer = parts_told(part for artifact in task.artifacts for part in artifact.parts)
    says = parts_told(task.status.message.parts)
    told = {
        "state": state,
        "answer": answer.pop("text", ""),
        "says": says.pop("text", ""),
        **says,
        **answer,
        "task": task.id,
        "context": task.context_id,
    }
    return {name: it for name, it in told.items() if it}


def message_told(message: Any) -> dict[str, Any]:
    """Return a message that an agent answered with, without any task."""
    parts = parts_told(message.parts)
    told = {"state": "answered", "answer": parts.pop("text", ""), **parts}
    return {name: it for name, it in {**told, "context": message.context_id}.items() if it}


def parts_told(parts: Iterable[Any]) -> dict[str, Any]:
    """Return parts as text, data and the names of files; files are named, never fetched."""
    from google.protobuf.json_format import MessageToDict  # noqa: PLC0415 - see a2a_card

    texts, data, files = [], [], []
    for part in parts:
        kind = part.WhichOneof("content")
        if kind == "text":
            texts.append(part.text)
        elif kind == "data":
            data.append(MessageToDict(part.data))
        else:
            named = {"name": part.filename, "type": part.media_type, "url": part.url}
            files.append({name: it for name, it in named.items() if it})
    told = {"text": "\n\n".join(texts), "data": data, "files": files}
    return {name: it for name, it in told.items() if it}


def _taken(result: dict[str, Any], _payload: Payload) -> Outcome:
    return Outcome(fate=Fate.DONE, result=result)
