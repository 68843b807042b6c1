"""A real local model server that speaks Anthropic's messages, and refuses what the vendor refuses."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.fakes.model_server import FRAGMENT, ModelServer, Recorded, Turn

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ID = re.compile(r"[a-zA-Z0-9_-]+")
TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
USAGE = {
    "input_tokens": 2,
    "cache_creation_input_tokens": 6,
    "cache_read_input_tokens": 3,
    "output_tokens": 7,
}


def use(name: str, args: Any = None, *, id: Any = "toolu_9f3KqZ1vX7") -> dict[str, Any]:  # noqa: A002
    """One call as a block of content. `name` is the wire's."""
    return {"type": "tool_use", "id": id, "name": name, "input": {} if args is None else args}


class AnthropicServer(ModelServer):
    """As `ModelServer`, in the words of messages; a turn's `calls` are blocks made by `use`.

    `finish` is the stop reason. Strict, it wants each step's results in one user's turn, before all text.
    """

    path = "/v1/messages"
    base_path = ""

    def fault(self, recorded: Recorded) -> str:
        """Say what the vendor would refuse the request for, "" for nothing."""
        headers = recorded.headers
        has_key = "x-api-key" in headers or "authorization" in headers
        if not has_key or "anthropic-version" not in headers:
            return "headers: a key and anthropic-version are wanted"
        return message_fault(recorded.body) if self._strict else ""

    def error_of(self, turn: Turn) -> dict[str, Any]:
        """The body of a refusal."""
        said = {"type": TYPES.get(turn.status, "api_error"), "message": turn.text or "no"}
        return {"type": "error", "error": said, "request_id": "req_1"}

    def body_of(self, turn: Turn, model: Any) -> dict[str, Any]:
        """A message."""
        words = [{"type": "text", "text": turn.text}] if turn.text else []
        reason = turn.finish or ("tool_use" if turn.calls else "end_turn")
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [*words, *turn.calls],
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": USAGE,
        }

    def events_of(self, turn: Turn, body: dict[str, Any]) -> list[Any]:
        """The events of a streamed message: texts and inputs in pieces, counts at both ends."""
        message = self.body_of(turn, body.get("model"))
        start = {
            **message,
            "content": [],
            "stop_reason": None,
            "usage": {**USAGE, "output_tokens": 1},
        }
        events: list[Any] = [{"type": "message_start", "message": start}, {"type": "ping"}]
        for index, block in enumerate(message["content"]):
            events += block_events(index, block)
        ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        events.append({"type": "message_delta", "delta": ending, "usage": {"output_tokens": 7}})
        return [*events, {"type": "message_stop"}]

    def framed(self, event: Any) -> bytes:
        """One event on the wire, with its name."""
        if isinstance(event, str):
            return event.encode()
        return f"event: {event.get('type')}\ndata: {json.dumps(event)}\n\n".encode()


def block_events(index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    """One block of content as a stream tells it; an input that is a text is sent as it is, however broken."""
    if block["type"] == "text":
        empty, kind, name, said = {**block, "text": ""}, "text_delta", "text", block["text"]
    else:
        given = block["input"]
        said = given if isinstance(given, str) else json.dumps(given) if given else ""
        empty, kind, name = {**block, "input": {}}, "input_json_delta", "partial_json"
    pieces = ["", *(said[at : at + FRAGMENT] for at in range(0, len(said), FRAGMENT))]
    return [
        {"type": "content_block_start", "index": index, "content_block": empty},
        *(
            {"type": "content_block_delta", "index": index, "delta": {"type": kind, name: piece}}
            for piece in pieces
        ),
        {"type": "content_block_stop", "index": index},
    ]


def message_fault(body: dict[str, Any]) -> str:
    """Say what is wrong with a request: its cap, its names, its turns, or how results pair with calls."""
    if type(body.get("max_tokens")) is not int or body["max_tokens"] < 1:
        return "max_tokens: field required"
    names = [tool.get("name", "") for tool in body.get("tools", [])]
    bad = [name for name in names if not NAME.fullmatch(name)]
    if bad or len(set(names)) != len(names):
        return f"tools: names must fit {NAME.pattern} and be unique, found {bad or names}"
    if any(tool["input_schema"].get("type") != "object" for tool in body.get("tools", [])):
        return "tools: input_schema.type: field required"
    turns = body.get("messages") or []
    if not turns or turns[0]["role"] != "user":
        return "messages: first message must use the user role"
    return _turns_fault(turns, has_tools=bool(names))


def _turns_fault(turns: list[dict[str, Any]], *, has_tools: bool) -> str:
    open_ids: list[str] = []
    seen: set[str] = set()
    for index, turn in enumerate(turns):
        place, blocks = f"messages.{index}", turn["content"]
        if index and turns[index - 1]["role"] == turn["role"]:
            return f"{place}: two turns of {turn['role']}"
        if not blocks or any(it["type"] == "text" and not it["text"].strip() for it in blocks):
            return f"{place}: text content blocks must contain non-whitespace text"
        if any(it["type"] != "text" for it in blocks) and not has_tools:
            return f"{place}: tools must be defined where there are tool blocks"
        results = [it["tool_use_id"] for it in blocks if it["type"] == "tool_result"]
        if results != open_ids or any(it["type"] != "tool_result" for it in blocks[: len(results)]):
            return f"{place}: results of {results}, expected {open_ids} at its start"
        open_ids = [it["id"] for it in blocks if it["type"] == "tool_use"]
        unfit = [it for it in open_ids if not ID.fullmatch(it) or it in seen]
        seen.update(open_ids)
        if unfit or len(set(open_ids)) != len(open_ids):
            return f"{place}: `tool_use` ids must fit {ID.pattern} and be unique: {open_ids}"
    return f"tool_use ids without tool_result blocks: {open_ids}" if open_ids else ""
