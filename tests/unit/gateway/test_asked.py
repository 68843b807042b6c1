"""What a server asks of us in the middle of a call is answered or refused; it never waits for us."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from liyagent.gateway import mcp
from liyagent.gateway.asked import NO_METHOD, reply_to
from liyagent.gateway.contracts import Address
from liyagent.gateway.outcome import Fate
from tests.fakes.asking_server import AskingServer
from tests.unit.gateway.support import a_payload, always


@pytest.fixture
def server() -> Iterator[AskingServer]:
    """A server that asks for three things in each call."""
    with AskingServer() as asking:
        yield asking
        mcp.close_all()


def test_a_server_that_asks_in_the_middle_of_a_call_over_http_is_answered(
    server: AskingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKING_TOKEN", "t-1")
    address = Address(server="jira", transport="http", url=server.url, bearer_env="ASKING_TOKEN")
    outcome = mcp.call(address, a_payload("say"), always)
    assert (outcome.fate, outcome.result) == (Fate.DONE, "answered")
    assert server.replies["ask-ping"]["result"] == {}
    for method in ("roots/list", "sampling/createMessage"):
        assert server.replies[f"ask-{method}"]["error"]["code"] == NO_METHOD
    assert {it["mcp-session-id"] for it in server.headers} == {"s-1"}
    assert {it["authorization"] for it in server.headers} == {"Bearer t-1"}


def test_a_server_that_asks_without_end_is_answered_a_few_times_only(server: AskingServer) -> None:
    server.asks = tuple(f"x/{number}" for number in range(40))
    address = Address(server="jira", transport="http", url=server.url)
    outcome = mcp.call(address, a_payload("say", timeout_seconds=0.5), always)
    assert outcome.fate is Fate.UNKNOWN
    assert len(server.replies) <= 16


@pytest.mark.parametrize("message", [None, [], {"id": 1, "result": {}}, {"method": "notice"}])
def test_what_is_no_request_is_not_answered(message: object) -> None:
    assert reply_to(message) is None
