"""Requests that nobody makes by accident: each has a refusal that says what was wrong."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any
from urllib.parse import quote

import pytest

from liyagent.agents.models import Agent
from liyagent.asgi import application
from runs.models import Run
from tests.flows.conftest import Api

NO_ID = "00000000-0000-0000-0000-000000000000"
PROBLEM = "application/problem+json"


def cursor(at: str) -> str:
    return base64.urlsafe_b64encode(f"{at} {NO_ID}".encode()).decode()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("&".join(["a=1"] * 1001), "exceeded"),
        ("limit=1&limit=2", "'limit' is given 2 times"),
        ("status=queued&status=x", "'status' is given 2 times"),
        (f"cursor={cursor('0001-01-01T00:00:00+23:00')}", "cursor wants"),
        (f"cursor={cursor('9999-12-31T23:59:59-23:00')}", "cursor wants"),
        (f"cursor={cursor('2026-01-01T00:00:00')}", "cursor wants"),
        ("cursor=%00", "cursor wants"),
    ],
)
def test_a_query_that_cannot_be_used_is_refused(operator: Api, query: str, said: str) -> None:
    answer = operator.get(f"/api/runs?{query}")
    assert answer.status == 400
    assert answer.headers["Content-Type"] == PROBLEM
    assert said in answer.data["detail"]


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
