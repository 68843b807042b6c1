"""Requests that nobody makes by accident: each has a refusal that says what was wrong."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.test import Client

from liyagent.agents.models import Agent
from liyagent.asgi import application
from liyagent.core.paging import write_cursor
from liyagent.gateway.models import Tool, ToolServer
from runs.models import Run
from tests.databases import FreshDatabase
from tests.flows.conftest import Api

NO_ID = "00000000-0000-0000-0000-000000000000"
PROBLEM = "application/problem+json"


def cursor(at: str) -> str:
    return write_cursor([at, NO_ID])


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("&".join(["a=1"] * 1001), "exceeded"),
        ("limit=1&limit=2", "'limit' is given 2 times"),
        ("status=queued&status=x", "'status' is given 2 times"),
        (f"cursor={cursor('0001-01-01T00:00:00+23:00')}", "cursor wants"),
        (f"cursor={cursor('9999-12-31T23:59:59-23:00')}", "cursor wants"),
        (f"cursor={cursor('2026-01-01T00:00:00')}", "cursor wants"),
        ("cursor=%00", "U+0000"),
    ],
)
def test_a_query_that_cannot_be_used_is_refused(operator: Api, query: str, said: str) -> None:
    answer = operator.get(f"/api/runs?{query}")
    assert answer.status == 400
    assert answer.headers["Content-Type"] == PROBLEM
    assert said in answer.data["detail"]


@pytest.mark.parametrize("is_debug", [True, False])
@pytest.mark.parametrize(
    "address",
    [
        "/api/policies/%00/versions",
        "/api/servers/%00",
        "/api/tools/jira/%00",
        "/api/data-policies/%00",
        "/api/agents?cursor=%00",
        "/health/live?x=%00",
    ],
)
def test_an_address_that_holds_no_text_is_refused(
    operator: Api, address: str, is_debug: bool, settings: Any
) -> None:
    settings.DEBUG = is_debug
    answer = operator.get(address)
    assert answer.status == 400
    assert answer.headers["Content-Type"] == PROBLEM
    assert "U+0000" in answer.data["detail"]


def test_a_wait_that_is_given_twice_starts_nothing(operator: Api, agent: Agent) -> None:
    answer = operator.post("/api/agents/triage/runs?wait=0&wait=5", {"task": "t"})
    assert answer.status == 400
    assert not Run.objects.exists()


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/x\r\nX: y", "/api/\n"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_what_is_no_address_of_the_api_is_closed_too(
    operator: Api, path: str, method: str, settings: Any
) -> None:
    settings.DEBUG = True
    assert Api().send(method, quote(path)).status == 401
    known = operator.send(method, quote(path))
    assert known.status == 404
    assert known.headers["Content-Type"] == PROBLEM


def test_a_body_in_chunks_is_read(operator: Api, agent: Agent) -> None:
    body = json.dumps({"task": "t", "x": 1}).encode()
    parts = [body[:5], body[5:]]
    told: list[Any] = []

    async def receive() -> Any:
        if not parts:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Any) -> None:
        told.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/agents/triage/runs",
        "query_string": b"",
        "headers": [
            (b"host", b"localhost"),
            (b"authorization", f"Bearer {operator.token}".encode()),
            (b"content-type", b"application/json"),
            (b"transfer-encoding", b"chunked"),
        ],
    }
    asyncio.run(application(scope, receive, send))
    assert told[0]["status"] == 400
    assert b"x: unknown field" in told[1]["body"]


@pytest.fixture
def console(fresh_db: FreshDatabase) -> Client:
    """The console, seen by somebody who may do everything."""
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("ada"))
    return client


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        ("[" * 100_000, "nested deeper"),
        ("[" + "9" * 5000 + "]", "digits"),
        ("[NaN]", "patterns such as"),
        ("[", "not JSON"),
    ],
    ids=["deep", "long", "nan", "cut"],
)
def test_json_in_a_form_that_cannot_be_kept_is_told_beside_its_field(
    console: Client, agent: Agent, patterns: str, said: str
) -> None:
    answer = console.post(f"/admin/agents/agent/{agent.pk}/change/", {"tool_patterns": patterns})
    assert answer.status_code == 200
    assert said in str(answer.context["adminform"].form.errors["tool_patterns"])


def test_json_of_a_contract_that_cannot_be_kept_is_told_beside_its_field(console: Client) -> None:
    server = ToolServer.objects.create(key="s", url="http://h/")
    tool = Tool.objects.create(server=server, name="t")
    answer = console.post(f"/admin/gateway/tool/{tool.pk}/change/", {"undo": "[" * 100_000})
    assert answer.status_code == 200
    assert "nested deeper" in str(answer.context["adminform"].form.errors["undo"])


@pytest.mark.parametrize("path", ["runs/run/?status__exact=%00", "runs/call/?fate=%00"])
def test_a_list_is_filtered_by_nothing_that_cannot_be_stored(console: Client, path: str) -> None:
    assert console.get(f"/admin/{path}").status_code == 400


def test_markup_in_an_agents_words_is_shown_and_not_obeyed(console: Client, agent: Agent) -> None:
    Agent.objects.update(name="<script>alert(1)</script>", model="<b>m</b>")
    page = console.get("/admin/agents/agent/").content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_method_that_health_does_not_know_is_a_problem_too(method: str) -> None:
    answer = Api().send(method, "/health/live")
    assert answer.status == 405
    assert answer.headers["Content-Type"] == PROBLEM
    assert answer.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "path", ["/health/", "/health/x", "/api/runs/x", "/api/agents/a b", "/api/"]
)
def test_an_address_that_is_none_is_a_problem_to_the_known_and_401_to_strangers(
    operator: Api, path: str
) -> None:
    known, unknown = operator.get(path), Api().get(path)
    assert (known.status, known.headers["Content-Type"]) == (404, PROBLEM)
    assert unknown.status == (401 if path.startswith("/api/") else 404)
    assert unknown.headers["Content-Type"] == PROBLEM
    assert unknown.data["request_id"] in unknown.data["instance"]


@pytest.mark.parametrize(
    "text", ["x", "", "W10", "WyJhIl0", "eyJhIjoxfQ", "W1siYSJdLCJiIl0", "a" * 2000, "é"]
)
def test_a_cursor_that_no_page_named_is_refused(operator: Api, text: str) -> None:
    answer = operator.get(f"/api/runs?cursor={quote(text)}")
    assert (answer.status, answer.data["code"]) == (400, "input.bad")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("since=yesterday", "since is 'yesterday'"),
        ("since=2026-01-01", "a time with its zone"),
        ("since=2026-01-01T00:00:00", "a time with its zone"),
        ("until=2026-02-30T00:00:00Z", "a time with its zone"),
        ("until=0001-01-01T00:00:00%2B23:00", "a time with its zone"),
        ("error=Lost", "error is 'Lost'"),
        ("started_by=", "started_by wants"),
        (f"started_by={'a' * 151}", "started_by wants"),
    ],
)
def test_a_filter_that_cannot_be_used_says_what_it_wants(
    operator: Api, query: str, said: str
) -> None:
    answer = operator.get(f"/api/runs?{query}")
    assert answer.status == 400
    assert said in answer.data["detail"]


@pytest.mark.parametrize("place", ["https://evil.example", "//evil.example", "javascript:alert(1)"])
def test_a_login_leads_to_no_other_site(fresh_db: FreshDatabase, place: str) -> None:
    User.objects.create_superuser("root", password="right-horse-battery")
    answer = Client().post(
        "/admin/login/", {"username": "root", "password": "right-horse-battery", "next": place}
    )
    assert (answer.status_code, answer["Location"]) == (302, "/admin/")
