"""Whoever hangs up has asked all the same, and nobody waits for them any more (ruling 29, CR-05)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from liyagent.asgi import application
from liyagent.core.readiness import STATE
from runs.models import Run
from runs.stream import LOOKOUT
from tests.fakes.mcp_client import ACCEPT, MODERN, McpUser, asks
from tests.flows.carrying import carrying
from tests.flows.conftest import api_of, make_user
from tests.unit.entry.mcp_server.test_calls import KEY, until
from tests.unit.runs.carrying.conftest import World, says

# What a request of that version says of itself.
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
OF_VERSION = {
    MODERN: {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "triage"},
    "2025-11-25": {"mcp-protocol-version": "2025-11-25"},
}


def send_and_be_gone(body: Any, token: str, headers: dict[str, str]) -> None:
    """As the server tells it: the body whole, and at once that nobody is there any more."""
    content = json.dumps(body).encode()
    known = {
        "host": "127.0.0.1",
        "authorization": f"Bearer {token}",
        "accept": ACCEPT,
        "content-type": "application/json",
        "content-length": str(len(content)),
        **headers,
    }
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": "/mcp", "raw_path": b"/mcp",
        "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        "headers": [(name.encode(), it.encode()) for name, it in known.items()],
    }  # fmt: skip
    told = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> Any:
        return told.pop() if told else {"type": "http.disconnect"}

    async def send(_message: Any) -> None:
        return

    asyncio.run(application(scope, receive, send))


@pytest.mark.promise("CR-05")
@pytest.mark.parametrize("version", OF_VERSION)
def test_a_run_is_started_though_its_caller_is_gone_with_the_last_byte(
    world: World, version: str
) -> None:
    token = api_of(make_user("ann", "agents.operate")).token
    body = asks(meta={**ENVELOPE, **KEY})
    for _ in range(2):
        send_and_be_gone(body, token, OF_VERSION[version])
    assert Run.objects.count() == 1


@pytest.mark.promise("CR-05")
@pytest.mark.parametrize("version", OF_VERSION)
def test_a_run_goes_on_without_its_caller_whose_place_is_free_and_who_asks_again(
    world: World, ann: McpUser, version: str
) -> None:
    world.model.steps = [says("all is well")]
    body = asks(meta={**ENVELOPE, **KEY})
    connection = ann.sent("POST", json.dumps(body).encode(), **OF_VERSION[version])
    until(lambda: len(LOOKOUT.watched) == 1)
    connection.close()
    until(lambda: not LOOKOUT.watched)
    with carrying():
        again = ann.call("triage", meta=KEY, task="look after it")
    assert again.content[0].text == "all is well"
    assert Run.objects.count() == 1


def test_a_process_that_drains_answers_whoever_waits_with_how_to_go_on(
    world: World, ann: McpUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(STATE, "is_draining", True)
    told = ann.call("triage", task="look")
    assert not told.is_error
    assert "run_result" in told.content[0].text
    assert Run.objects.count() == 1
