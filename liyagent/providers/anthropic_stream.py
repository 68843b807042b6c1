"""A stream of Anthropic's messages, added up to the body that would have come without streaming. Pure.

A block that begins a second time under its number and id begins anew and is no second block (FL-45).
"""

from __future__ import annotations

from typing import Any

from liyagent.providers.event_stream import Fold
from liyagent.providers.shapes import check_number_of_calls, object_of, text_of

Key = tuple[int, str]


class AnthropicFold(Fold):
    """The events so far. `input` of a call is kept as the text that its pieces make."""

    def __init__(self) -> None:
        """Nothing was heard yet."""
        self.is_finished = False
        self.is_over = False
        self._blocks: dict[Key, dict[str, Any]] = {}
        self._pieces: dict[Key, list[str]] = {}
        self._latest: dict[int, Key] = {}
        self._usage: dict[str, Any] = {}
        self._reason: Any = None

    def add(self, event: dict[str, Any]) -> None:
        """Take an event; one of a kind that is not known, such as `ping`, says nothing."""
        match event.get("type"):
            case "message_start":
                message = object_of(event.get("message"))
                self._usage.update(object_of(message.get("usage")))
            case "content_block_start" if not self.is_finished:
                self._start(_number(event), object_of(event.get("content_block")))
            case "content_block_delta" if not self.is_finished:
                self._go_on(_number(event), object_of(event.get("delta")))
            case "message_delta":
                self._finish(event)
            case "message_stop":
                self.is_over = True

    def body(self) -> dict[str, Any]:
        """Return the message that the events make."""
        content = [self._block(key) for key in self._blocks]
        return {"content": content, "stop_reason": self._reason, "usage": self._usage}

    def _start(self, number: int, block: dict[str, Any]) -> None:
        key = self._latest[number] = (number, text_of(block.get("id")))
        self._blocks[key], self._pieces[key] = block, []
        check_number_of_calls(list(self._blocks))

    def _go_on(self, number: int, delta: dict[str, Any]) -> None:
        if number in self._latest:
            said = text_of(delta.get("text")) + text_of(delta.get("partial_json"))
            self._pieces[self._latest[number]].append(said)

    def _finish(self, event: dict[str, Any]) -> None:
        told = {name: it for name, it in object_of(event.get("usage")).items() if it is not None}
        self._usage.update(told)
        reason = object_of(event.get("delta")).get("stop_reason")
        if reason:
            self._reason, self.is_finished = reason, True

    def _block(self, key: Key) -> dict[str, Any]:
        block, said = self._blocks[key], "".join(self._pieces[key])
        if block.get("type") == "tool_use" and said:
            return {**block, "input": said}
        if block.get("type") == "text":
            return {**block, "text": text_of(block.get("text")) + said}
        return block


def _number(event: dict[str, Any]) -> int:
    """A block's number; -1 for all that have none."""
    number = event.get("index")
    return number if type(number) is int else -1
