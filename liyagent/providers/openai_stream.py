"""A stream of chat completions, added up to the body that would have come without streaming. Pure.

Endpoints repeat: some send in each chunk all calls so far, or a chunk twice. A call that was heard before is
never added a second time (FL-45); where it cannot be told, nothing is guessed that would make a call twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from liyagent.core.plain import json_bytes
from liyagent.providers.arguments import parse_arguments
from liyagent.providers.event_stream import Fold
from liyagent.providers.shapes import check_number_of_calls, list_of, object_of, text_of


@dataclass(slots=True, kw_only=True)
class _Heard:
    """One call as far as it was heard. `index` is None where the endpoint numbers none."""

    index: int | None
    id: str
    name: str
    arguments: str = ""

    @property
    def is_whole(self) -> bool:
        # The first half spares parsing a text that grows with each piece.
        return self.arguments.endswith("}") and parse_arguments(self.arguments) is not None

    def body(self) -> dict[str, Any]:
        return {"id": self.id, "function": {"name": self.name, "arguments": self.arguments}}


class OpenAIFold(Fold):
    """The chunks so far. Only the first choice counts: no other was asked for."""

    def __init__(self) -> None:
        """Nothing was heard yet."""
        self.is_finished = False
        self.is_over = False
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reason: Any = None
        self._usage: Any = None
        self._calls: list[_Heard] = []

    def add(self, event: dict[str, Any]) -> None:
        """Take a chunk: a piece of text, pieces of calls, the finish or the usage."""
        self._usage = event.get("usage") or self._usage
        for choice in list_of(event.get("choices"))[:1]:
            if object_of(choice).get("index") in (None, 0):
                self._add_choice(object_of(choice))

    def _add_choice(self, choice: dict[str, Any]) -> None:
        delta = object_of(choice.get("delta"))
        # What comes behind the finish is a repetition.
        if not self.is_finished:
            self._text.append(text_of(delta.get("content")))
            self._refusal.append(text_of(delta.get("refusal")))
            for raw in list_of(delta.get("tool_calls")):
                self._add_call(object_of(raw))
        if choice.get("finish_reason"):
            self._reason = choice["finish_reason"]
            self.is_finished = True

    def body(self) -> dict[str, Any]:
        """Return the completion that the chunks make."""
        message: dict[str, Any] = {
            "content": "".join(self._text),
            "refusal": "".join(self._refusal),
            "tool_calls": [it.body() for it in self._calls],
        }
        choice = {"message": message, "finish_reason": self._reason}
        return {"choices": [choice], "usage": self._usage}

    def _add_call(self, raw: dict[str, Any]) -> None:
        index = raw.get("index") if type(raw.get("index")) is int else None
        function = object_of(raw.get("function"))
        id_, name = text_of(raw.get("id")), text_of(function.get("name"))
        piece = _arguments(function.get("arguments"))
        heard = self._heard_before(index, id_, name, piece)
        if heard is None:
            self._calls.append(_Heard(index=index, id=id_, name=name, arguments=piece))
            check_number_of_calls(self._calls)
            return
        heard.id, heard.name = heard.id or id_, heard.name or name
        heard.arguments = _joined(heard, piece, is_named=bool(name or id_))

    def _heard_before(self, index: int | None, id_: str, name: str, piece: str) -> _Heard | None:
        """The call that a piece belongs to, None where it begins a new one."""
        numbered = [it for it in self._calls if it.index == index]
        if not name and not id_:
            going_on = self._calls if index is None else numbered
            return going_on[-1] if going_on else None
        for it in reversed(numbered):
            if _is_same_call(it, id_, name, piece):
                return it
        return None


def _is_same_call(heard: _Heard, id_: str, name: str, piece: str) -> bool:
    """Whether a piece that tells an id or a name goes on with, or repeats, a call heard before."""
    if name and heard.name and name != heard.name:
        return False
    if id_ and heard.id and id_ != heard.id:
        return heard.is_whole and piece == heard.arguments
    if piece and heard.arguments and piece.startswith(heard.arguments):
        return True  # all of it once more, or grown
    # Whole and other than heard: a call of its own, whose id and number say nothing (FL-44).
    return not (piece and heard.is_whole)


def _joined(heard: _Heard, piece: str, *, is_named: bool) -> str:
    if heard.arguments and piece.startswith(heard.arguments) and (is_named or heard.is_whole):
        return piece  # told again
    return heard.arguments + piece


def _arguments(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json_bytes(value).decode()
