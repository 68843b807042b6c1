"""A collector of OTLP over HTTP on loopback: it reads requests with protobuf's own library, and remembers each span."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "collected"
F = descriptor_pb2.FieldDescriptorProto
STRING, BYTES, BOOL, INT64, DOUBLE = (
    F.TYPE_STRING,
    F.TYPE_BYTES,
    F.TYPE_BOOL,
    F.TYPE_INT64,
    F.TYPE_DOUBLE,
)
UINT32, FIXED64, FIXED32, ENUM = F.TYPE_UINT32, F.TYPE_FIXED64, F.TYPE_FIXED32, F.TYPE_INT32
# opentelemetry-proto 1.x: name, number, type; a text as type is a message, with * a list.
MESSAGES: dict[str, list[tuple[str, int, Any]]] = {
    "Request": [("resource_spans", 1, "*ResourceSpans")],
    "ResourceSpans": [
        ("resource", 1, "Resource"),
        ("scope_spans", 2, "*ScopeSpans"),
        ("schema_url", 3, STRING),
    ],
    "Resource": [("attributes", 1, "*KeyValue")],
    "ScopeSpans": [("scope", 1, "Scope"), ("spans", 2, "*Span"), ("schema_url", 3, STRING)],
    "Scope": [("name", 1, STRING), ("version", 2, STRING)],
    "Span": [
        ("trace_id", 1, BYTES),
        ("span_id", 2, BYTES),
        ("trace_state", 3, STRING),
        ("parent_span_id", 4, BYTES),
        ("name", 5, STRING),
        ("kind", 6, ENUM),
        ("start_time_unix_nano", 7, FIXED64),
        ("end_time_unix_nano", 8, FIXED64),
        ("attributes", 9, "*KeyValue"),
        ("dropped_attributes_count", 10, UINT32),
        ("links", 13, "*Link"),
        ("status", 15, "Status"),
        ("flags", 16, FIXED32),
    ],
    "Link": [
        ("trace_id", 1, BYTES),
        ("span_id", 2, BYTES),
        ("attributes", 4, "*KeyValue"),
        ("flags", 6, FIXED32),
    ],
    "Status": [("message", 2, STRING), ("code", 3, ENUM)],
    "KeyValue": [("key", 1, STRING), ("value", 2, "Value")],
    "Value": [
        ("string_value", 1, STRING),
        ("bool_value", 2, BOOL),
        ("int_value", 3, INT64),
        ("double_value", 4, DOUBLE),
        ("array_value", 5, "Values"),
    ],
    "Values": [("values", 1, "*Value")],
    "Answer": [("partial_success", 1, "PartialSuccess")],
    "PartialSuccess": [("rejected_spans", 1, INT64), ("error_message", 2, STRING)],
}


def _classes() -> dict[str, Any]:
    """Message classes of protobuf's library, made of the table."""
    file = descriptor_pb2.FileDescriptorProto(
        name="collected.proto", package=PACKAGE, syntax="proto3"
    )
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        if name == "Value":
            message.oneof_decl.add(name="value")
        for field_name, number, kind in fields:
            is_list = isinstance(kind, str) and kind.startswith("*")
            made = message.field.add(
                name=field_name,
                number=number,
                label=F.LABEL_REPEATED if is_list else F.LABEL_OPTIONAL,
            )
            if isinstance(kind, str):
                made.type, made.type_name = F.TYPE_MESSAGE, f".{PACKAGE}.{kind.lstrip('*')}"
            else:
                made.type = kind
            if name == "Value":
                made.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = message_factory.GetMessageClassesForFiles(["collected.proto"], pool)
    return {name.removeprefix(f"{PACKAGE}."): it for name, it in found.items()}


CLASSES = _classes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """One span as it arrived; ids in hex, times in nanoseconds, `error` whether its status says so."""

    trace: str
    id: str
    parent: str
    name: str
    kind: int
    began: int
    ended: int
    attributes: dict[str, Any]
    links: tuple[tuple[str, str], ...]
    error: bool
    message: str
    resource: dict[str, Any]

    @property
    def of(self) -> str:
        """Its kind of ours."""
        told: str = self.attributes["liyagent.span"]
        return told


def spans_in(body: bytes) -> list[Collected]:
    """Return the spans of a request. Raises `DecodeError` for what is no request of OTLP."""
    request = CLASSES["Request"].FromString(body)
    return [
        Collected(
            trace=it.trace_id.hex(),
            id=it.span_id.hex(),
            parent=it.parent_span_id.hex(),
            name=it.name,
            kind=it.kind,
            began=it.start_time_unix_nano,
            ended=it.end_time_unix_nano,
            attributes=_told(it.attributes),
            links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in it.links),
            error=it.status.code == 2,
            message=it.status.message,
            resource=_told(of.resource.attributes),
        )
        for of in request.resource_spans
        for scoped in of.scope_spans
        for it in scoped.spans
    ]


def _told(attributes: Any) -> dict[str, Any]:
    return {it.key: _value(it.value) for it in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(it) for it in value.array_value.values]
    return getattr(value, kind)


@dataclass(slots=True, kw_only=True)
class Asked:
    """One request: its path, headers and body."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Collector:
    """Answers with `status` and `answer`; `on_request` is called before, in the thread that serves."""

    status: int = 200
    answer: bytes = b""
    port: int = 0
    on_request: Callable[[], None] = lambda: None
    asked: list[Asked] = field(default_factory=list)
    _server: Any = None

    def __enter__(self) -> Collector:
        """Listen; at `port`, where one is given."""
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                collector.on_request()
                collector.asked.append(Asked(path=self.path, headers=headers, body=body))
                self.send_response(collector.status)
                self.send_header("content-length", str(len(collector.answer)))
                self.end_headers()
                self.wfile.write(collector.answer)

            def log_message(self, *_: object) -> None:
                """Nothing is printed."""

        ThreadingHTTPServer.allow_reuse_address = True
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """What OTEL_EXPORTER_OTLP_ENDPOINT is set to."""
        return f"http://127.0.0.1:{self.port}"

    def spans(self) -> list[Collected]:
        """All that arrived with an answer of success, in the order it came."""
        return [span for it in list(self.asked) for span in spans_in(it.body)]
