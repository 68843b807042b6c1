"""A model step in the words of chat completions, and back. Pure: no network, no SDK."""

from __future__ import annotations

from typing import Any

from liyagent.core.plain import clean_text, json_bytes
from liyagent.providers.arguments import parse_arguments
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

CUT = "length"
REFUSED = "content_filter"
# A checkpoint numbers the calls of a step in sixteen bits; and nobody means so many.
MOST_CALLS = 1000
# Longer than any tool's, so that a cut name is never one.
LONGEST_NAME = 300


def request_body(request: ModelRequest) -> dict[str, Any]:
    """Return the body of the request, without anything that was not asked for."""
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(message) for message in request.messages],
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body


def read_answer(body: Any, request: ModelRequest) -> ModelAnswer:
    """Return what a parsed answer says; it must be plain already (ruling 19).

    Raises `ModelUnavailable` in the endpoint's words where there is no choice to read.
    """
    choice = _first(body.get("choices")) if isinstance(body, dict) else None
    message = choice.get("message") if choice else None
    if not choice or not isinstance(message, dict):
        raise ModelUnavailable(f"the model's answer holds no choice: {excerpt(body)}")
    table = names_by_wire(tool.name for tool in request.tools)
    asked = _list(message.get("tool_calls"))
    if len(asked) > MOST_CALLS:
        raise ModelUnavailable(
            f"the model's answer asks for {len(asked)} calls; {MOST_CALLS} is the most"
        )
    calls = tuple(_call(raw, table) for raw in asked)
    refusal = _text(message.get("refusal"))
    usage = body.get("usage")
    return ModelAnswer(
        text=_text(message.get("content")) or refusal,
        calls=calls,
        finish=_finish(choice.get("finish_reason"), calls=calls, refusal=refusal),
        input_tokens=_count(usage, "prompt_tokens"),
        output_tokens=_count(usage, "completion_tokens"),
    )


def excerpt(body: Any) -> str:
    """Return the start of what an endpoint said, as one line, for a person."""
    text = body if isinstance(body, str) else json_bytes(body).decode()
    return " ".join(clean_text(text[:2000]).split())[:300] or "nothing"


def _message(message: Message) -> dict[str, Any]:
    match message.role:
        case Role.ASSISTANT:
            said: dict[str, Any] = {"role": "assistant", "content": message.text or None}
            if message.calls:
                said["tool_calls"] = [_said_call(call) for call in message.calls]
            elif not message.text:
                said["content"] = ""
            return said
        case Role.TOOL:
            text = f"Error: {message.text}" if message.is_error else message.text
            return {"role": "tool", "tool_call_id": message.call_id, "content": text}
        case _:
            return {"role": message.role.value, "content": message.text}


def _said_call(call: ToolCall) -> dict[str, Any]:
    # Servers parse the arguments of earlier calls and refuse the whole request where one does not
    # parse; what the model wrote stays readable, and the call's error result says what was wrong.
    args = {"unreadable_arguments": call.arguments_text} if call.args is None else call.args
    function = {"name": wire_name(call.name), "arguments": json_bytes(args).decode()}
    return {"id": call.id, "type": "function", "function": function}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function: dict[str, Any] = {
        "name": wire_name(tool.name),
        "parameters": tool.schema or {"type": "object", "properties": {}},
    }
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def _call(raw: Any, table: dict[str, str]) -> ToolCall:
    function = raw.get("function") if isinstance(raw, dict) else None
    if not isinstance(function, dict):
        return ToolCall(id="", name="", arguments_text=excerpt(raw), args=None)
    name, arguments = _text(function.get("name")), function.get("arguments")
    text = arguments if isinstance(arguments, str) else json_bytes(arguments).decode()
    return ToolCall(
        id=_text(raw.get("id")),
        name=table.get(name, name[:LONGEST_NAME]),
        arguments_text=text,
        args=parse_arguments(text),
    )


def _finish(reason: Any, *, calls: tuple[ToolCall, ...], refusal: str) -> Finish:
    """A cut answer is cut whatever else it holds; calls are calls also where the reason says stop."""
    if reason == CUT:
        return Finish.CUT
    if reason == REFUSED or refusal:
        return Finish.REFUSED
    return Finish.CALLS if calls else Finish.STOP


def _text(value: Any) -> str:
    """Text, also where it comes as a list of parts; a number as its digits (ids of some servers)."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return "" if value is None or isinstance(value, dict) else json_bytes(value).decode()


def _first(value: Any) -> dict[str, Any] | None:
    listed = _list(value)
    return listed[0] if listed and isinstance(listed[0], dict) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _count(usage: Any, name: str) -> int:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 <= count < 2**63 else 0
