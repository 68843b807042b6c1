"""Spans as OTLP has them on the wire (opentelemetry-proto 1.x, `ExportTraceServiceRequest`), in protobuf's encoding.

The few messages that are sent are written here by their field numbers, which never change; nothing is added to what
is installed for them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import Link, SpanContext

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MASK_64 = (1 << 64) - 1
TRACE_BYTES, SPAN_BYTES = 16, 8
PARTIAL_SUCCESS, REJECTED_SPANS = 1, 1


def request_of(spans: Sequence[ReadableSpan]) -> bytes:
    """Return the request that tells of these spans, which are of one resource and one scope. `spans` is not empty."""
    first = spans[0]
    scope = first.instrumentation_scope
    named = _text(1, scope.name if scope else "") + _text(2, (scope and scope.version) or "")
    scoped = _message(1, named) + b"".join(_message(2, _span(it)) for it in spans)
    resource = _message(1, _attributes(1, first.resource.attributes)) + _message(2, scoped)
    return _message(1, resource)


def rejected_in(answer: bytes) -> int:
    """Return how many spans a collector says that it did not keep; 0 where its answer says nothing that can be read."""
    partial = _field(answer, PARTIAL_SUCCESS)
    count = _field(partial, REJECTED_SPANS) if isinstance(partial, bytes) else 0
    return count if isinstance(count, int) and count < 1 << 31 else 0


def _span(span: ReadableSpan) -> bytes:
    context, parent, status = span.get_span_context(), span.parent, span.status
    assert context is not None
    return b"".join(
        (
            _ids(context),
            _bytes(4, parent.span_id.to_bytes(SPAN_BYTES, "big")) if parent else b"",
            _text(5, span.name),
            # OTLP keeps 0 for a kind that is not told.
            _varint_field(6, span.kind.value + 1),
            _fixed64(7, span.start_time or 0),
            _fixed64(8, span.end_time or 0),
            _attributes(9, span.attributes or {}),
            b"".join(_message(13, _link(it)) for it in span.links),
            _message(15, _varint_field(3, status.status_code.value)),
            _fixed32(16, int(context.trace_flags)),
        )
    )


def _link(link: Link) -> bytes:
    return (
        _ids(link.context)
        + _attributes(4, link.attributes or {})
        + _fixed32(6, int(link.context.trace_flags))
    )


def _ids(context: SpanContext) -> bytes:
    trace_id = context.trace_id.to_bytes(TRACE_BYTES, "big")
    return _bytes(1, trace_id) + _bytes(2, context.span_id.to_bytes(SPAN_BYTES, "big"))


def _attributes(number: int, attributes: Mapping[str, Any]) -> bytes:
    return b"".join(
        _message(number, _text(1, name) + _message(2, _value(value)))
        for name, value in attributes.items()
    )


def _value(value: Any) -> bytes:
    """An AnyValue; its member is written whatever it is, since it says which one is meant."""
    match value:
        case bool():
            return _tag(2, VARINT) + _varint(int(value))
        case int():
            return _tag(3, VARINT) + _varint(value & MASK_64)
        case float():
            return _tag(4, FIXED64) + struct.pack("<d", value)
        case str():
            return _bytes(1, _utf8(value), is_kept_empty=True)
        case _:
            return _bytes(5, _values(value), is_kept_empty=True)


def _values(values: Iterable[Any]) -> bytes:
    return b"".join(_message(1, _value(it)) for it in values)


def _utf8(text: str) -> bytes:
    # A lone surrogate is no text; the span is told all the same.
    return text.encode("utf-8", "replace")


def _text(number: int, text: str) -> bytes:
    return _bytes(number, _utf8(text))


def _message(number: int, body: bytes) -> bytes:
    return _bytes(number, body, is_kept_empty=True)


def _bytes(number: int, body: bytes, *, is_kept_empty: bool = False) -> bytes:
    if not body and not is_kept_empty:
        return b""
    return _tag(number, BYTES) + _varint(len(body)) + body


def _varint_field(number: int, value: int) -> bytes:
    return _tag(number, VARINT) + _varint(value) if value else b""


def _fixed64(number: int, value: int) -> bytes:
    return _tag(number, FIXED64) + struct.pack("<Q", value) if value else b""


def _fixed32(number: int, value: int) -> bytes:
    return _tag(number, FIXED32) + struct.pack("<I", value) if value else b""


def _tag(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def _field(body: bytes, number: int) -> bytes | int:
    """Return the first field of that number that a message has, 0 where there is none or it cannot be read."""
    at = 0
    while at < len(body):
        tag, at = _read_varint(body, at)
        value: bytes | int = 0
        match tag & 7:
            case 0:
                value, at = _read_varint(body, at)
            case 2:
                size, at = _read_varint(body, at)
                value, at = body[at : at + size], at + size
            case 1:
                at += 8
            case 5:
                at += 4
            case _:
                return 0
        if tag >> 3 == number:
            return value
    return 0


def _read_varint(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(body) and shift < 64:
        byte = body[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    return value, at
