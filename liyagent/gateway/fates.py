"""The table of fates: what an HTTP exchange with an MCP server tells of a call (rulings 9 and 22). Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from liyagent.core.plain import NotStorable, parse_json
from liyagent.gateway.outcome import Outcome, Payload
from liyagent.gateway.results import done, failed, in_doubt

# The server says that it did not take the request.
REFUSED_STATUSES = frozenset({400, 401, 403, 405, 406, 413, 415, 421, 422, 429})
# A proxy can give each of these after the server has acted, whatever stands in the body.
DOUBTFUL_STATUSES = frozenset({404, 408, 409})
# Parse error, invalid request, method not found, invalid params: refused before anything ran.
REFUSED_CODES = frozenset({-32700, -32600, -32601, -32602})


def fate_of_answer(status: int, answer: Any, payload: Payload) -> Outcome:
    """Return the outcome for an HTTP status and the JSON-RPC response in its body (None: there is none)."""
    return fate_by(status, answer, payload, refused=REFUSED_CODES, of_result=_fate_of_result)


def fate_by(
    status: int,
    answer: Any,
    payload: Payload,
    *,
    refused: Collection[int],
    of_result: Callable[[dict[str, Any], Payload], Outcome],
) -> Outcome:
    """Return what `fate_of_answer` does, of a protocol that has its own `refused` codes and results."""
    error = answer.get("error") if isinstance(answer, dict) else None
    said = _error_text(error)
    if status in DOUBTFUL_STATUSES or status >= 500:
        return in_doubt(f"no certain answer: HTTP status {status}{said}", payload)
    if status in REFUSED_STATUSES:
        return failed(f"refused by the server: HTTP status {status}{said}", payload)
    if isinstance(error, dict):
        if error.get("code") in refused:
            return failed(f"refused by the server{said}", payload)
        return in_doubt(f"the server reports an error{said}", payload)
    result = answer.get("result") if isinstance(answer, dict) else None
    if status != 200 or not isinstance(result, dict):
        return in_doubt(f"no answer that can be read: HTTP status {status}", payload)
    return of_result(result, payload)


def _fate_of_result(result: dict[str, Any], payload: Payload) -> Outcome:
    """`isError` decides, never the text: one that begins with "Error:" is a success if the server says so."""
    if result.get("resultType", "complete") == "input_required":
        asked = "the tool asks for an input that no one can give here"
        return failed(asked, payload, by_tool=True)
    if result.get("isError"):
        said = _text_of(result.get("content")) or "the tool failed and said nothing"
        return failed(said, payload, by_tool=True)
    structured = result.get("structuredContent")
    value = structured if structured is not None else content_value(result.get("content"))
    return done(value, payload)


def content_value(content: Any) -> Any:
    """Return content blocks as a value: one block by itself, several as a list, none as None.

    A text block is its text, or what it says where it is a JSON object or list; others stay as they are.
    """
    blocks = content if isinstance(content, list) else []
    values = [_block_value(block) for block in blocks]
    return values[0] if len(values) == 1 else (values or None)


def _block_value(block: Any) -> Any:
    if not isinstance(block, dict) or block.get("type") != "text":
        return block
    text = str(block.get("text", ""))
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return parse_json(text)
    except NotStorable:
        return text


def _text_of(content: Any) -> str:
    blocks = content if isinstance(content, list) else []
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def _error_text(error: Any) -> str:
    if not isinstance(error, dict):
        return ""
    return f": {error.get('message', '')} ({error.get('code')})"
