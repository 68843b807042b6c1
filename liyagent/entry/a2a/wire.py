"""The two forms of the protocol's messages: what came in made one thing, whatever its version."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

from liyagent.core.canonical import canonical, digest
from liyagent.entry.a2a.errors import BadParams, NoSuchTask, WrongContent

MOST_PARTS = 1_000
LONGEST_ID = 255
LONGEST_CONTEXT = 128
PRINTABLE = re.compile(r"[^\x00-\x1f\x7f]+")
TEXT_MODES = frozenset({"text/plain", "text/*", "*/*", "text", "*"})
USER_ROLES = frozenset({"user", "ROLE_USER"})
MOST_HISTORY = 2**31 - 1


class Version(StrEnum):
    """Of the protocol, by whose names the request came."""

    V03 = "0.3"
    V10 = "1.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What a caller said. Each part is {"text": ...} or {"data": ...}, as 1.0 writes them."""

    message_id: str
    context_id: str
    task_id: str
    parts: list[dict[str, Any]]
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """All of it as text: what an agent is asked."""
        return "\n\n".join(_as_text(part) for part in self.parts)

    @property
    def digest(self) -> str:
        """What two messages have in common that say the same, by whichever names they came."""
        return digest([self.parts, self.context_id, self.task_id])


def named(params: Mapping[str, Any], name: str) -> Any:
    """Return a member by its name in JSON, or as the protocol's own files spell it; None where there is none."""
    if name in params:
        return params[name]
    return params.get("".join(f"_{it.lower()}" if it.isupper() else it for it in name))


def text_of(params: Mapping[str, Any], name: str, *, longest: int = LONGEST_ID) -> str:
    """Return a member that is text, empty where it is not given. Raises `BadParams`."""
    value = named(params, name)
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or len(value) > longest or not PRINTABLE.fullmatch(value):
        raise BadParams(f"{name} wants text of 1 to {longest} characters, no control among them")
    return value


def object_of(params: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a member that is an object, empty where it is not given. Raises `BadParams`."""
    value = named(params, name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadParams(f"{name} wants an object")
    return value


def whole_of(params: Mapping[str, Any], name: str, *, low: int, high: int) -> int | None:
    """Return a member that is a whole number, None where it is not given. Raises `BadParams`."""
    value = named(params, name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadParams(f"{name} wants a whole number from {low} to {high}")
    return int(value)


def truth_of(params: Mapping[str, Any], name: str) -> bool | None:
    """Return a member that is true or false, None where it is not given. Raises `BadParams`."""
    value = named(params, name)
    if value is not None and not isinstance(value, bool):
        raise BadParams(f"{name} wants true or false")
    return value


def task_id_of(params: Mapping[str, Any], name: str) -> UUID:
    """Return the id of a task. Raises `BadParams` for none, `NoSuchTask` for one that cannot be ours."""
    text = text_of(params, name)
    if not text:
        raise BadParams(f"{name} is missing: it wants a task's id")
    try:
        return UUID(text)
    except ValueError:
        raise NoSuchTask(task=text) from None


def history_length_of(params: Mapping[str, Any]) -> int | None:
    """Return how many messages of a task's history are wanted, None for all. Raises `BadParams`."""
    return whole_of(params, "historyLength", low=0, high=MOST_HISTORY)


def message_of(params: Mapping[str, Any]) -> Message:
    """Return the message of a request. Raises `BadParams`; `WrongContent` for files, which no agent of ours reads."""
    told = object_of(params, "message")
    message_id = text_of(told, "messageId")
    if not message_id:
        raise BadParams("message.messageId is missing: by it a message sent again is known")
    if text_of(told, "role") not in USER_ROLES:
        raise BadParams("message.role wants the user's: agents do not write to themselves")
    parts = told.get("parts")
    if not isinstance(parts, list) or not 1 <= len(parts) <= MOST_PARTS:
        raise BadParams(f"message.parts wants a list of 1 to {MOST_PARTS}")
    return Message(
        message_id=message_id,
        context_id=text_of(told, "contextId", longest=LONGEST_CONTEXT),
        task_id=text_of(told, "taskId"),
        parts=[_part(part, number) for number, part in enumerate(parts)],
        metadata=object_of(told, "metadata"),
    )


def check_modes(configuration: Mapping[str, Any]) -> None:
    """Raise `WrongContent` where a caller takes no text: that is what agents of ours answer with."""
    modes = named(configuration, "acceptedOutputModes")
    if not modes:
        return
    if not isinstance(modes, list) or not all(isinstance(it, str) for it in modes):
        raise BadParams("acceptedOutputModes wants a list of media types")
    if not any(it.split(";")[0].strip().lower() in TEXT_MODES for it in modes):
        raise WrongContent("answers are text/plain")


def is_blocking(configuration: Mapping[str, Any], version: Version) -> bool:
    """Whether the answer is to be waited for: by default it is, in both versions (as the SDK reads 0.3)."""
    if version is Version.V10:
        return not truth_of(configuration, "returnImmediately")
    return truth_of(configuration, "blocking") is not False


def _part(part: Any, number: int) -> dict[str, Any]:
    where = f"message.parts.{number}"
    if not isinstance(part, dict):
        raise BadParams(f"{where} wants an object")
    if any(name in part for name in ("file", "raw", "url")):
        raise WrongContent(f"{where} is a file; agents here take text and data")
    if ("text" in part) == ("data" in part):
        raise BadParams(f"{where} wants text or data, and one of them")
    if "data" in part:
        return {"data": part["data"]}
    if not isinstance(part["text"], str):
        raise BadParams(f"{where}.text wants text")
    return {"text": part["text"]}


def _as_text(part: Mapping[str, Any]) -> str:
    return str(part["text"]) if "text" in part else canonical(part["data"]).decode()
