"""Spans of requests, by OpenTelemetry's instrumentation of Django with a provider of ours.

It is shown of a request what may be told, and nothing else: no address, no query, no header but `traceparent`. What it
writes passes `REQUEST_FACTS` once more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import ResolverMatch
from opentelemetry.context import Context, attach, detach
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.django.middleware.otel_middleware import _DjangoMiddleware
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import Status, StatusCode, get_current_span

from liyagent.core.traces_conf import TracesConf
from liyagent.telemetry.kinds import ERROR, MISSION, REQUEST, REQUEST_FACTS, REQUEST_ID, SPAN
from liyagent.telemetry.spans import tracing_of
from liyagent.telemetry.tracing import Tracing, provider_of
from missions.context import current_stamp

# It has no types.
Instrumented: Any = _DjangoMiddleware
THEIRS = f"{_DjangoMiddleware.__module__}.{_DjangoMiddleware.__qualname__}"
# A span reads the stamp of the request, so it comes right behind what makes it.
OURS, AFTER = "liyagent.telemetry.requests.RequestSpans", "missions.middleware.MissionMiddleware"
# Asked every few seconds by machines, for nobody's work.
LEFT_OUT = ("/health/", "/metrics", f"/{settings.STATIC_URL.lstrip('/')}")
METHODS = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}
)
OTHER = "_OTHER"
STATUS = "http.response.status_code"
OF_OURS = frozenset({MISSION, SPAN, REQUEST_ID})


def begin(conf: TracesConf) -> None:
    """Have each request told of, in a process that has not loaded its middleware yet."""
    provider = provider_of(conf)
    provider.add_span_processor(RequestProcessor(conf))
    DjangoInstrumentor().instrument(tracer_provider=provider, meter_provider=NoOpMeterProvider())
    others = [it for it in settings.MIDDLEWARE if it != THEIRS]
    # Not there where OTEL_PYTHON_DJANGO_INSTRUMENT is False: then it has no tracer either.
    if len(others) < len(settings.MIDDLEWARE):
        others.insert(others.index(AFTER) + 1, OURS)
    settings.MIDDLEWARE = others


@dataclass(slots=True)
class Shown:
    """What the instrumentation is shown of a request, in the form in which WSGI has it."""

    method: str
    META: dict[str, Any]
    resolver_match: ResolverMatch | None = None
    # Of no address, so that it finds no route in it.
    path: str = ""
    _otel_start_time: float = 0.0

    def build_absolute_uri(self, _location: str) -> str:
        """Nothing: it asks for it to leave requests out, which `RequestSpans` does."""
        return ""


class RequestSpans:
    """Middleware that has the instrumentation's tell of a request.

    That one reads requests of ASGI by a package more, and puts the text of exceptions into spans; what it is shown here is
    neither. Code that answers finds nothing of it in OpenTelemetry's context: other packages would send on what they find.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response
        self._theirs = Instrumented(get_response)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer within a span that lasts until the answer begins."""
        if request.path.startswith(LEFT_OUT):
            return self._get_response(request)
        shown = shown_of(request)
        self._theirs.process_request(shown)
        span = get_current_span()
        token = attach(Context())
        try:
            response = self._get_response(request)
        finally:
            detach(token)
        # Known only now, and no words: it has no more of an address than stands in urls.py.
        shown.resolver_match = request.resolver_match
        if route := shown.resolver_match and shown.resolver_match.route:
            method = "HTTP" if shown.method == OTHER else shown.method
            span.update_name(f"{method} {route}")
        self._theirs.process_view(shown, None)
        self._theirs.process_response(shown, response)
        return response


class RequestProcessor(SpanProcessor):
    """Gives each span of a request its mission as it begins (MI-04), and hands on what of it may be told as it ends."""

    def __init__(self, conf: TracesConf) -> None:
        self._conf = conf

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Set what it is of: the mission that the request named, its id where it named none (MI-02)."""
        stamp = current_stamp()
        span.set_attributes(
            {MISSION: stamp.mission_of_work, SPAN: REQUEST, REQUEST_ID: stamp.request_id}
        )

    def on_end(self, span: ReadableSpan) -> None:
        """Hand it on; spans of runs go before it where many wait."""
        # Asked for anew: a child of this process sends by itself.
        tracing = tracing_of(self._conf)
        assert isinstance(tracing, Tracing)
        tracing.sending.take_if_there_is_room(told_of(span, tracing.resource))


def shown_of(request: HttpRequest) -> Shown:
    """Return what may be told of a request; a method that nobody knows may be anybody's words."""
    method = request.method if request.method in METHODS else OTHER
    # An address would be told as a whole where there is no target.
    shown = {"REQUEST_METHOD": method, "REQUEST_URI": "/"}
    if traceparent := request.headers.get("traceparent"):
        shown["HTTP_TRACEPARENT"] = traceparent
    return Shown(method, shown)


def told_of(span: ReadableSpan, resource: Resource) -> ReadableSpan:
    """Return the span with what may be told alone, whatever the instrumentation and its settings have added."""
    found = dict(span.attributes or {})
    told = {name: found[name] for name in OF_OURS if name in found}
    told |= {REQUEST_FACTS[name]: it for name, it in found.items() if name in REQUEST_FACTS}
    if has_failed := span.status.status_code is StatusCode.ERROR:
        told[ERROR] = str(told.get(STATUS, ""))
    return ReadableSpan(
        span.name,
        context=span.context,
        parent=span.parent,
        resource=resource,
        attributes=told,
        kind=span.kind,
        status=Status(StatusCode.ERROR if has_failed else StatusCode.UNSET),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )
