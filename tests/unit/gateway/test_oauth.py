"""Tokens by client credentials: fetched once, renewed in time, and what a refusal of one means for a call."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from liyagent.gateway import mcp, oauth
from liyagent.gateway.contracts import Address
from liyagent.gateway.oauth import Credentials
from liyagent.gateway.outcome import Fate, Outcome
from tests.fakes.token_endpoint import TokenEndpoint
from tests.fakes.tool_server import ToolServer
from tests.unit.gateway.support import a_payload, a_read_payload, always


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[TokenEndpoint]:
    """A token endpoint, and the client's secret in the environment."""
    monkeypatch.setenv("JIRA_SECRET", "se:cret &1")
    with TokenEndpoint() as found:
        yield found


def address(server: ToolServer, endpoint: TokenEndpoint, **changes: str) -> Address:
    """The server, reached with tokens of the endpoint."""
    given = {"client_id": "our app", "secret_env": "JIRA_SECRET", "scope": "tools read"} | changes
    credentials = Credentials(token_url=endpoint.url, **given)
    return Address(server="jira", transport="http", url=server.url, oauth=credentials)


def write(where: Address, **changes: Any) -> Outcome:
    """One write through the wire."""
    return mcp.call(where, a_payload(**changes), always)


def read(where: Address) -> Outcome:
    """One read through the wire."""
    return mcp.call(where, a_read_payload(), always)


def forget(where: Address) -> None:
    """The first token has lapsed."""
    assert where.oauth is not None
    _, sessions = mcp._running.get()
    sessions._tokens.forget(where.oauth, "token-1")


def test_a_token_is_fetched_once_and_goes_with_each_request(
    any_server: ToolServer, endpoint: TokenEndpoint
) -> None:
    where = address(any_server, endpoint)
    assert [write(where).fate for _ in range(3)] == [Fate.DONE] * 3
    assert set(any_server.tokens) == {"Bearer token-1"}
    assert endpoint.asked == [{"grant_type": "client_credentials", "scope": "tools read"}]
    (sent,) = endpoint.authorizations
    # Form-encoded before they are joined (RFC 6749, 2.3.1).
    assert base64.b64decode(sent.removeprefix("Basic ")) == b"our+app:se%3Acret+%261"


def test_many_calls_at_once_fetch_one_token(
    tool_server: ToolServer, endpoint: TokenEndpoint
) -> None:
    where = address(tool_server, endpoint)
    assert read(where).fate is Fate.DONE
    endpoint.delay = 0.1
    forget(where)
    with ThreadPoolExecutor(16) as pool:
        fates = list(pool.map(lambda _: read(where).fate, range(16)))
    assert fates == [Fate.DONE] * 16
    assert len(endpoint.asked) == 2


def test_a_late_refusal_of_a_token_leaves_the_one_that_was_fetched_since(
    tool_server: ToolServer, endpoint: TokenEndpoint
) -> None:
    where = address(tool_server, endpoint)
    assert read(where).fate is Fate.DONE
    for _ in range(2):
        forget(where)
        assert read(where).fate is Fate.DONE
        assert tool_server.tokens[-1] == "Bearer token-2"
    assert len(endpoint.asked) == 2


@pytest.mark.parametrize("lasts", [0, -1, "0"])
def test_a_token_that_lapses_at_once_is_fetched_for_each_request(
    tool_server: ToolServer, endpoint: TokenEndpoint, lasts: Any
) -> None:
    endpoint.answer = {"expires_in": lasts}
    where = address(tool_server, endpoint)
    assert read(where).fate is Fate.DONE
    before = len(endpoint.asked)
    assert read(where).fate is Fate.DONE
    assert len(endpoint.asked) > before
    assert tool_server.tokens[-1] == f"Bearer token-{len(endpoint.asked)}"


@pytest.mark.parametrize(
    ("lasts", "seconds"),
    [
        (3600, 3570),
        ("3600", 3570),
        (40, 20),
        (None, 270),
        ("soon", 270),
        (1e400, 270),
        (10**400, 270),
    ],
)
def test_a_token_is_used_until_shortly_before_it_lapses(lasts: Any, seconds: float) -> None:
    assert oauth._usable_seconds(lasts) == seconds


def test_it_is_fetched_again_before_the_call_is_marked(
    tool_server: ToolServer, endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = address(tool_server, endpoint)
    mcp.open_way(where)
    forget(where)
    mcp.open_way(where)
    assert len(endpoint.asked) == 2
    assert write(where).fate is Fate.DONE
    assert len(endpoint.asked) == 2


def test_a_session_whose_opening_is_refused_is_opened_once_more_with_a_fresh_token(
    any_server: ToolServer, endpoint: TokenEndpoint
) -> None:
    any_server.next("initialize" if any_server.legacy else "server/discover", refuse_status=401)
    assert write(address(any_server, endpoint)).fate is Fate.DONE
    assert any_server.tokens[-1] == "Bearer token-2"
    assert len(any_server.calls("create_issue")) == 1


def test_a_server_that_refuses_every_token_is_asked_twice_a_request_and_nothing_is_sent(
    tool_server: ToolServer, endpoint: TokenEndpoint
) -> None:
    for method in ("server/discover", "server/discover", "initialize", "initialize"):
        tool_server.next(method, refuse_status=401)
    outcome = write(address(tool_server, endpoint))
    assert outcome.fate is Fate.FAILED
    assert outcome.error.startswith("not sent")
    assert tool_server.calls("create_issue") == []


def test_a_write_that_is_refused_for_its_token_failed_and_is_not_sent_again_by_itself(
    any_server: ToolServer, endpoint: TokenEndpoint
) -> None:
    where = address(any_server, endpoint)
    assert read(where).fate is Fate.DONE
    any_server.next("create_issue", refuse_status=401)
    outcome = write(where)
    assert (outcome.fate, outcome.by_tool) == (Fate.FAILED, False)
    assert "401" in outcome.error
    assert "the next call brings a fresh token" in outcome.error
    assert len(any_server.calls("create_issue")) == 1
    assert write(where).fate is Fate.DONE
    assert any_server.tokens[-1] == "Bearer token-2"
    assert len(any_server.effects("create_issue")) == 1


def test_a_read_that_is_refused_for_its_token_is_made_again_with_a_fresh_one(
    any_server: ToolServer, endpoint: TokenEndpoint
) -> None:
    where = address(any_server, endpoint)
    assert read(where).fate is Fate.DONE
    any_server.next("get_issue", refuse_status=401)
    assert read(where).fate is Fate.DONE
    assert any_server.tokens[-1] == "Bearer token-2"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"status": 401, "body": b'{"error":"invalid_client"}'}, "status 401: invalid_client"),
        ({"status": 500, "body": b"<html>"}, "cannot be understood (status 500)"),
        ({"body": b"{}"}, "without an access_token"),
        ({"answer": {"access_token": "a b"}}, "without an access_token"),
        ({"answer": {"access_token": "x\r\nHost: other"}}, "without an access_token"),
        ({"answer": {"access_token": 7}}, "without an access_token"),
        ({"answer": {"token_type": "mac"}}, "another type than bearer"),
        ({"body": b"[" * 100_000}, "cannot be understood"),
        ({"body": b'"%s"' % (b"x" * 100_000)}, "longer than"),
    ],
)
def test_an_endpoint_that_gives_no_token_means_that_nothing_left_and_says_why(
    tool_server: ToolServer, endpoint: TokenEndpoint, told: dict[str, Any], said: str
) -> None:
    for name, value in told.items():
        setattr(endpoint, name, value)
    outcome = write(address(tool_server, endpoint))
    assert outcome.fate is Fate.FAILED
    assert outcome.error.startswith("not sent")
    assert said in outcome.error
    assert "se:cret" not in outcome.error
    assert tool_server.received == []


def test_an_endpoint_that_fails_later_means_that_nothing_left(
    tool_server: ToolServer, endpoint: TokenEndpoint
) -> None:
    where = address(tool_server, endpoint)
    assert read(where).fate is Fate.DONE
    tool_server.next("create_issue", refuse_status=401)
    write(where)
    endpoint.status, endpoint.body = 503, b"{}"
    outcome = write(where)
    assert outcome.fate is Fate.FAILED
    assert outcome.error.startswith("not sent")
    assert "status 503" in outcome.error
    assert len(tool_server.calls("create_issue")) == 1
    endpoint.status, endpoint.body = 200, b""
    assert write(where).fate is Fate.DONE


def test_a_secret_that_is_not_set_is_told_by_its_name(
    tool_server: ToolServer, endpoint: TokenEndpoint
) -> None:
    outcome = write(address(tool_server, endpoint, secret_env="NOT_SET_SECRET"))
    assert "NOT_SET_SECRET is not set" in outcome.error
    assert endpoint.asked == []


def test_an_endpoint_inside_our_own_network_is_refused(
    tool_server: ToolServer, endpoint: TokenEndpoint
) -> None:
    credentials = Credentials(
        token_url="http://169.254.169.254/token", client_id="a", secret_env="JIRA_SECRET"
    )
    where = Address(server="jira", transport="http", url=tool_server.url, oauth=credentials)
    assert "ForbiddenAddress" in write(where).error


def test_neither_secret_nor_token_crosses_a_redirect(
    tool_server: ToolServer, endpoint: TokenEndpoint
) -> None:
    with TokenEndpoint() as other:
        endpoint.location = other.url
        assert "status 307" in write(address(tool_server, endpoint)).error
        endpoint.location = ""
        moved = TokenEndpoint(location=other.url)
        with moved:
            server = Address(
                server="jira",
                transport="http",
                url=moved.url,
                oauth=address(tool_server, endpoint).oauth,
            )
            assert write(server).fate is Fate.FAILED
            assert moved.authorizations[0].startswith("Bearer token-")
        where = address(tool_server, endpoint)
        assert read(where).fate is Fate.DONE
        tool_server.next("create_issue", refuse_status=307, location=other.url)
        # It may have acted before it pointed elsewhere.
        assert write(where).fate is Fate.UNKNOWN
        assert other.asked == []
