"""Spans as OTLP has them on the wire, by OpenTelemetry's own encoder; they are sent by `sending`."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.message import DecodeError
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import ReadableSpan


def request_of(spans: Sequence[ReadableSpan]) -> bytes:
    """Return the request that tells of these spans, whose texts are `sendable`."""
    body: bytes = encode_spans(spans).SerializeToString()
    return body


def rejected_in(answer: bytes) -> int:
    """Return how many spans a collector says that it did not keep; 0 where its answer says nothing that can be read."""
    try:
        told = ExportTraceServiceResponse.FromString(answer)
    except DecodeError:
        return 0
    return max(0, int(told.partial_success.rejected_spans))


def sendable(text: str) -> str:
    """Return the text as protobuf takes it: a lone surrogate, which is no text, is told as `?`.

    The encoder leaves out an attribute with one, and gives up on a span whose name has one, with all that go along.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
