"""Spans of requests: each with its mission, and with nothing of a request but what the document lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client
from opentelemetry.baggage import get_all
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.propagate import inject
from opentelemetry.trace import (
    INVALID_SPAN,
    ProxyTracerProvider,
    get_current_span,
    get_tracer_provider,
)

from liyagent.core.metrics import REGISTRY
from liyagent.core.traces_conf import TracesConf
from liyagent.telemetry import requests
from liyagent.telemetry.kinds import Kind
from liyagent.telemetry.spans import span, story_of, tell_requests
from tests.fakes.collector import Collected
from tests.fakes.traced import Traces, a_run

pytestmark = [pytest.mark.django_db]
MISSION, REQUEST_ID = "liyagent.mission.id", "liyagent.request.id"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
NAMED = {"x-request-id": "req-1", "x-liyagent-mission": "incident-42"}
SECRET = "hunter2"


class Looks:
    """The last middleware: what it does is what a test wants to be done within a request."""

    does: Callable[[], HttpResponse | None] = staticmethod(lambda: None)

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return Looks.does() or self.get_response(request)


@pytest.fixture
def within(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    return lambda does: monkeypatch.setattr(Looks, "does", staticmethod(does))


@pytest.fixture
def told(traces: Traces, monkeypatch: pytest.MonkeyPatch) -> Iterator[Traces]:
    """A process that tells of its requests."""
    looks = f"{Looks.__module__}.{Looks.__qualname__}"
    monkeypatch.setattr(settings, "MIDDLEWARE", [*settings.MIDDLEWARE, looks])
    tell_requests()
    yield traces
    DjangoInstrumentor().uninstrument()


def ask(path: str, method: str = "GET", **headers: str) -> Any:
    """Ask as uvicorn does, and not as WSGI."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}

    async def answered() -> Any:
        client = AsyncClient(raise_request_exception=False)
        return await client.generic(method, path, headers=sent)

    return async_to_sync(answered)()


def one(traces: Traces) -> Collected:
    (found,) = traces.sent()
    return found


@pytest.mark.promise("MI-04")
def test_a_request_is_told_of_with_these_attributes_and_no_others(
    told: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REQUEST", "RESPONSE"):
        monkeypatch.setenv(f"OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_{name}", ".*")
    answer = ask(
        f"/api/agents/{SECRET}?q={SECRET}",
        authorization=f"Bearer {SECRET}",
        cookie=f"sessionid={SECRET}",
        user_agent=SECRET,
        referer=f"https://{SECRET}/",
        baggage=f"word={SECRET}",
        traceparent=f"00-{TRACE}-{PARENT}-01",
        tracestate=f"word={SECRET}",
        **NAMED,
    )
    found = one(told)
    assert found.attributes == {
        MISSION: "incident-42",
        "liyagent.span": "request",
        REQUEST_ID: "req-1",
        "http.request.method": "GET",
        "http.route": "api/agents/<slug:key>",
        "http.response.status_code": answer.status_code,
    }
    assert found.name == "GET api/agents/<slug:key>"
    assert (found.kind, found.error, found.message) == (2, False, "")
    assert (found.trace, found.parent) == (TRACE, PARENT)
    (asked,) = told.collector.asked
    assert SECRET.encode() not in asked.body


@pytest.mark.parametrize("path", ["/admin/login/", "/api/schema/", "/nowhere"])
@pytest.mark.parametrize("client", ["asgi", "wsgi"])
def test_api_and_console_are_told_of(told: Traces, path: str, client: str) -> None:
    status = (ask(path) if client == "asgi" else Client().get(path)).status_code
    assert one(told).attributes["http.response.status_code"] == status


@pytest.mark.promise("MI-04")
@pytest.mark.promise("MI-02")
@pytest.mark.parametrize(
    ("headers", "mission"),
    [
        ({"x-liyagent-mission": "INC-1"}, "INC-1"),
        ({"baggage": "liyagent.mission=INC-2"}, "INC-2"),
        ({"x-liyagent-mission": "a b", "x-request-id": "req-2"}, "req-2"),
        ({"x-request-id": "req-3"}, "req-3"),
        ({"x-request-id": "a\u00e4 b"}, ""),
    ],
)
def test_the_span_of_a_request_bears_its_mission_its_id_where_none_was_named(
    told: Traces, headers: dict[str, str], mission: str
) -> None:
    answer = ask("/api/runs", **headers)
    found = one(told)
    assert found.attributes[REQUEST_ID] == answer["X-Request-ID"]
    assert found.attributes[MISSION] == (mission or answer["X-Request-ID"])


@pytest.mark.parametrize("path", ["/health/live", "/metrics", "/static/none.css"])
def test_what_machines_ask_all_the_time_is_not_told_of(told: Traces, path: str) -> None:
    ask(path)
    ask("/nowhere")
    assert one(told).attributes["http.response.status_code"] == 404


def test_nothing_of_a_request_is_in_what_other_packages_read(
    told: Traces, within: Callable[[Callable[[], Any]], None]
) -> None:
    seen: list[object] = []

    def look() -> None:
        carrier: dict[str, str] = {}
        inject(carrier)
        seen.extend((get_current_span(), dict(get_all()), carrier))
        seen.append(type(get_tracer_provider()))

    within(look)
    ask("/nowhere", baggage="word=x", traceparent=f"00-{TRACE}-{PARENT}-01")
    assert seen == [INVALID_SPAN, {}, {}, ProxyTracerProvider]
    assert get_current_span() is INVALID_SPAN
    assert one(told).trace == TRACE


def test_of_a_failure_the_status_alone_is_told(
    told: Traces, within: Callable[[Callable[[], Any]], None]
) -> None:
    def fail() -> None:
        raise RuntimeError(SECRET)

    within(fail)
    assert ask("/nowhere").status_code == 500
    found = one(told)
    assert (found.error, found.message, found.attributes["error.type"]) == (True, "", "500")
    assert SECRET.encode() not in told.collector.asked[0].body


def test_a_method_that_nobody_knows_is_not_repeated(told: Traces) -> None:
    for path in ("/api/agents", "/nowhere"):
        ask(path, "HUNTER2")
    found = told.sent(2)
    assert [it.name for it in found] == ["HTTP api/agents", "HTTP"]
    assert {it.attributes["http.request.method"] for it in found} == {"_OTHER"}


def test_requests_push_out_no_spans_of_runs(told: Traces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told.sending, "_most", 4)
    monkeypatch.setattr(told.sending, "_run", lambda **_: None)
    before = REGISTRY.get_sample_value("liyagent_trace_spans_total", {"outcome": "full"}) or 0
    with story_of(a_run()), span(Kind.MODEL_CALL, "gpt"):
        pass
    for _ in range(5):
        ask("/nowhere")
    assert [it.name for it in told.sending._waiting] == ["chat gpt", "GET"]
    after = REGISTRY.get_sample_value("liyagent_trace_spans_total", {"outcome": "full"})
    assert after == before + 4


def test_whoever_turns_the_instrumentation_off_has_no_spans_of_requests(
    traces: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_PYTHON_DJANGO_INSTRUMENT", "False")
    before = [*settings.MIDDLEWARE]
    monkeypatch.setattr(settings, "MIDDLEWARE", [*before])
    requests.begin(traces.conf)
    DjangoInstrumentor().uninstrument()
    assert before == settings.MIDDLEWARE


def test_a_process_without_a_collector_has_its_middleware_as_it_is() -> None:
    before = [*settings.MIDDLEWARE]
    tell_requests()
    assert before == settings.MIDDLEWARE
    assert isinstance(settings.LIYAGENT.traces, TracesConf | None)
