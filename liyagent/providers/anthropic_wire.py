"""A model step in the words of Anthropic's messages, and back. Pure: no network, no SDK."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from liyagent.core.plain import json_bytes
from liyagent.providers.arguments import parse_arguments
from liyagent.providers.shapes import (
    check_number_of_calls,
    count_of,
    excerpt,
    known_name,
    object_of,
    text_of,
)
from liyagent.providers.types import (
    Finish,
    Message,
    ModelAnswer,
    ModelRequest,
    ModelUnavailable,
    Role,
    ToolCall,
    ToolSpec,
)
from liyagent.providers.wire_names import names_by_wire, wire_name

# The format wants a number; where an agent names none.
MOST_ANSWER_TOKENS = 8192
FIT_ID = re.compile(r"[a-zA-Z0-9_-]{1,128}")
# A text of nothing but space is refused.
NO_WORDS = "(no words)"
FINISHES = {
    "max_tokens": Finish.CUT,
    "model_context_window_exceeded": Finish.CUT,
    # Only tools of the vendor's own pause a turn, and none are offered: this is no whole answer.
    "pause_turn": Finish.CUT,
    "refusal": Finish.REFUSED,
}
INPUT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def request_body(request: ModelRequest) -> dict[str, Any]:
    """Return the body of the request, without anything that was not asked for."""
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_answer_tokens or MOST_ANSWER_TOKENS,
        "messages": _messages(request.messages),
    }
    said = [it.text for it in request.messages if it.role is Role.SYSTEM and it.text.strip()]
    if said:
        body["system"] = "\n\n".join(said)
    if tools := request.tools or _gone_tools(request.messages):
        body["tools"] = [_tool(tool) for tool in tools]
    if request.is_streaming:
        body["stream"] = True
    return body


def read_answer(body: Any, request: ModelRequest) -> ModelAnswer:
    """Return what a parsed answer says; it must be plain already (ruling 19).

    Raises `ModelUnavailable` in the endpoint's words where there is no content to read.
    """
    if not isinstance(body, dict) or not isinstance(body.get("content"), list):
        raise ModelUnavailable(
            f"the model's answer holds no content: {excerpt(body)}", status=HTTPStatus.OK
        )
    blocks = [object_of(it) for it in body["content"]]
    table = names_by_wire(tool.name for tool in request.tools)
    asked = [it for it in blocks if it.get("type") == "tool_use"]
    check_number_of_calls(asked)
    calls = tuple(_call(it, table) for it in asked)
    usage = object_of(body.get("usage"))
    return ModelAnswer(
        text="".join(text_of(it.get("text")) for it in blocks if it.get("type") == "text"),
        calls=calls,
        finish=_finish(body.get("stop_reason"), has_calls=bool(calls)),
        input_tokens=sum(count_of(usage, name) for name in INPUT_COUNTS),
        output_tokens=count_of(usage, "output_tokens"),
        cached_tokens=count_of(usage, "cache_read_input_tokens"),
    )


def _messages(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Turns of user and assistant; all results of a step stand in one user's turn, before any text (FL-49)."""
    turns: list[dict[str, Any]] = []
    open_ids: list[str] = []
    used: set[str] = set()
    for message in messages:
        match message.role:
            case Role.SYSTEM:
                continue
            case Role.ASSISTANT:
                open_ids = _wire_ids(message.calls, used)
                _say(turns, "assistant", _said(message, open_ids))
            case Role.TOOL:
                id_ = open_ids.pop(0) if open_ids else message.call_id
                _say(turns, "user", [_result(message, id_)])
            case Role.USER:
                text = message.text if message.text.strip() else NO_WORDS
                _say(turns, "user", [{"type": "text", "text": text}])
    return turns


def _say(turns: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    """Go on with the turn of whoever spoke last; one who said nothing had no turn."""
    if turns and turns[-1]["role"] == role:
        turns[-1]["content"] += blocks
    elif blocks:
        turns.append({"role": role, "content": blocks})


def _wire_ids(calls: tuple[ToolCall, ...], used: set[str]) -> list[str]:
    """Ids that the format takes, each once in a conversation; another provider's may be empty or repeated."""
    ids: list[str] = []
    for call in calls:
        is_fit = FIT_ID.fullmatch(call.id) is not None and call.id not in used
        ids.append(call.id if is_fit else f"toolu_liyagent_{len(used)}")
        used.add(ids[-1])
    return ids


def _said(message: Message, ids: list[str]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if message.text.strip():
        blocks.append({"type": "text", "text": message.text})
    for call, id_ in zip(message.calls, ids, strict=True):
        # What the model wrote stays readable; the call's error result says what was wrong.
        args = {"unreadable_arguments": call.arguments_text} if call.args is None else call.args
        name = wire_name(call.name)
        blocks.append({"type": "tool_use", "id": id_, "name": name, "input": args})
    return blocks


def _result(message: Message, id_: str) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": id_, "content": message.text}
    if message.is_error:
        result["is_error"] = True
    return result


def _tool(tool: ToolSpec) -> dict[str, Any]:
    schema = {"type": "object", **(tool.schema or {"properties": {}})}
    described = {"description": tool.description} if tool.description else {}
    return {"name": wire_name(tool.name), "input_schema": schema, **described}


def _gone_tools(messages: tuple[Message, ...]) -> tuple[ToolSpec, ...]:
    """The tools that a conversation speaks of and that are gone: one with calls is refused without any (FL-47)."""
    names = {call.name: None for message in messages for call in message.calls}
    return tuple(ToolSpec(name=name, description="No longer there.") for name in names)


def _call(block: dict[str, Any], table: dict[str, str]) -> ToolCall:
    """A call whose input is an object, or the text of one that a stream could not complete."""
    given = block.get("input")
    args = parse_arguments(given) if isinstance(given, str) else given
    text = given if isinstance(given, str) and args is None else json_bytes(args).decode()
    return ToolCall(
        id=text_of(block.get("id")),
        name=known_name(text_of(block.get("name")), table),
        arguments_text=text,
        args=args if isinstance(args, dict) else None,
    )


def _finish(reason: Any, *, has_calls: bool) -> Finish:
    """A cut answer is cut whatever else it holds; calls are calls also where the reason says end_turn."""
    named = FINISHES.get(reason) if isinstance(reason, str) else None
    return named or (Finish.CALLS if has_calls else Finish.STOP)
