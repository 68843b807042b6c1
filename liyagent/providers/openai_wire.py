"""A model step in the words of chat completions, and back. Pure: no network, no SDK."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from liyagent.core.plain import json_bytes
from liyagent.providers.arguments import parse_arguments
from liyagent.providers.shapes import (
    check_number_of_calls,
    count_of,
    excerpt,
    known_name,
    list_of,
    object_of,
    text_of,
    unreadable_call,
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

CUT = "length"
REFUSED = "content_filter"


def request_body(request: ModelRequest, *, cap_name: str, tells_usage: bool) -> dict[str, Any]:
    """Return the body of the request, without anything that was not asked for.

    `cap_name` is how the endpoint calls the most tokens of an answer; `tells_usage`, whether a stream may
    be asked for its usage.
    """
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(message) for message in request.messages],
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.max_answer_tokens:
        body[cap_name] = request.max_answer_tokens
    if request.is_streaming:
        body["stream"] = True
        if tells_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def read_answer(body: Any, request: ModelRequest) -> ModelAnswer:
    """Return what a parsed answer says; it must be plain already (ruling 19).

    Raises `ModelUnavailable` in the endpoint's words where there is no choice to read.
    """
    choice = _first(body.get("choices")) if isinstance(body, dict) else None
    message = choice.get("message") if choice else None
    if not choice or not isinstance(message, dict):
        raise ModelUnavailable(
            f"the model's answer holds no choice: {excerpt(body)}", status=HTTPStatus.OK
        )
    table = names_by_wire(tool.name for tool in request.tools)
    asked = list_of(message.get("tool_calls"))
    check_number_of_calls(asked)
    calls = tuple(_call(raw, table) for raw in asked)
    refusal = text_of(message.get("refusal"))
    usage = object_of(body.get("usage"))
    return ModelAnswer(
        text=text_of(message.get("content")) or refusal,
        calls=calls,
        finish=_finish(choice.get("finish_reason"), calls=calls, refusal=refusal),
        input_tokens=count_of(usage, "prompt_tokens"),
        output_tokens=count_of(usage, "completion_tokens"),
        cached_tokens=count_of(usage.get("prompt_tokens_details"), "cached_tokens"),
    )


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
        return unreadable_call(raw)
    name, arguments = text_of(function.get("name")), function.get("arguments")
    text = arguments if isinstance(arguments, str) else json_bytes(arguments).decode()
    return ToolCall(
        id=text_of(raw.get("id")),
        name=known_name(name, table),
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


def _first(value: Any) -> dict[str, Any] | None:
    listed = list_of(value)
    return listed[0] if listed and isinstance(listed[0], dict) else None
