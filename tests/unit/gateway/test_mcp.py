"""Calls of a real MCP server, well and badly behaved: from its ledger, never from what we believe."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from liyagent.gateway import mcp, mcp_session
from liyagent.gateway.contracts import Address
from liyagent.gateway.mcp_session import CatalogueUnreadable
from liyagent.gateway.outcome import Fate, NotSent, Outcome
from tests.fakes.tool_server import ToolServer
from tests.unit.gateway.support import a_payload, a_read_payload, address_for, always, never


def write(server: ToolServer, **changes: Any) -> Outcome:
    """One write through the wire."""
    return mcp.call(address_for(server), a_payload(**changes), always)


def read(server: ToolServer, **changes: Any) -> Outcome:
    """One read through the wire."""
    return mcp.call(address_for(server), a_read_payload(**changes), always)


def test_exact_arguments_key_and_mission_arrive(any_server: ToolServer) -> None:
    args = {
        "title": "über \U0001f600",
        "none": None,
        "big": 2**80,
        "list": [None, 1.5, {"x": None}],
    }
    outcome = write(any_server, args=args)
    assert outcome.result == {"id": "OPS-1"}
    received = any_server.calls("create_issue")[0]
    assert received["arguments"] == args
    assert received["_meta"]["io.liyagent/step-key"] == "step-key-1"
    assert received["_meta"]["io.liyagent/mission"] == "m-1"
    assert any_server.effects("create_issue")[0].meta["io.liyagent/step-key"] == "step-key-1"


def test_not_one_byte_of_a_call_leaves_once_its_mark_has_lapsed(any_server: ToolServer) -> None:
    with pytest.raises(NotSent):
        mcp.call(address_for(any_server), a_payload(), never)
    assert any_server.calls("create_issue") == []
    assert write(any_server).fate is Fate.DONE


def test_the_mark_is_asked_after_the_connection_stands_and_before_the_bytes() -> None:
    """A server that is slow to accept: the deadline passes while the session is being opened."""
    with ToolServer() as server, _slow_proxy(server) as proxy:
        lapsed = threading.Event()
        threading.Timer(0.02, lapsed.set).start()
        with pytest.raises(NotSent):
            mcp.call(proxy.address, a_payload(), lambda: not lapsed.is_set())
        assert server.received != []
        assert server.calls("create_issue") == []
        assert b"tools/call" not in proxy.seen
        mcp.close_all()


def test_a_call_longer_than_the_opening_of_a_session_is_waited_for(
    any_server: ToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_session, "OPEN_SECONDS", 0.3)
    any_server.next("create_issue", after=0.9)
    outcome = write(any_server, timeout_seconds=10.0)
    assert (outcome.fate, outcome.result) == (Fate.DONE, {"id": "OPS-1"})
    # A server that heeds a cancellation would never have answered.
    assert not [it for it in any_server.received if it["method"] == "notifications/cancelled"]


def test_the_way_is_open_before_a_call_is_marked(any_server: ToolServer) -> None:
    mcp.open_way(address_for(any_server))
    opened = len(any_server.received)
    assert opened > 0
    assert write(any_server).fate is Fate.DONE
    mcp.open_way(address_for(any_server))
    after = [it["method"] for it in any_server.received[opened:]]
    assert after.count("tools/call") == 1
    assert "initialize" not in after


@pytest.mark.field("FL-06")
@pytest.mark.parametrize(
    "behaviour",
    [
        {"status": 503},
        {"status": 500},
        {"status": 408},
        {"reset": True},
        {"cut": True},
        {"rpc_error": -32603},
    ],
    ids=["503", "500", "408", "reset", "cut", "internal"],
)
def test_a_write_that_was_committed_and_badly_answered_is_unknown_and_happened_once(
    any_server: ToolServer, behaviour: dict[str, Any]
) -> None:
    any_server.next("create_issue", **behaviour)
    assert write(any_server).fate is Fate.UNKNOWN
    assert len(any_server.effects("create_issue")) == 1
    assert len(any_server.calls("create_issue")) == 1
    assert write(any_server).fate is Fate.DONE


def test_what_the_server_refused_failed_and_did_not_happen(any_server: ToolServer) -> None:
    for status in (400, 401, 403, 422, 429):
        any_server.next("create_issue", refuse_status=status)
        assert write(any_server).fate is Fate.FAILED
    assert any_server.effects("create_issue") == []


@pytest.mark.field("FL-78")
def test_a_write_that_times_out_is_unknown_and_its_late_answer_is_logged(
    any_server: ToolServer, caplog: pytest.LogCaptureFixture
) -> None:
    assert read(any_server).fate is Fate.DONE
    any_server.next("create_issue", after=0.5)
    with caplog.at_level(logging.WARNING, logger="liyagent.gateway.exchange"):
        outcome = write(any_server, timeout_seconds=0.2)
        assert outcome.fate is Fate.UNKNOWN
        _until(lambda: "late answer of jira/create_issue is ignored" in caplog.text)
    assert not [it for it in any_server.received if it["method"] == "notifications/cancelled"]
    assert len(any_server.calls("create_issue")) == 1
    assert len(any_server.effects("create_issue")) == 1


def test_a_read_that_times_out_is_an_error(tool_server: ToolServer) -> None:
    tool_server.next("get_issue", before=0.5)
    outcome = read(tool_server, timeout_seconds=0.2)
    assert outcome.fate is Fate.FAILED
    assert "no answer within 0.2 s" in outcome.error


@pytest.mark.field("FL-75")
def test_after_a_restart_a_read_is_made_again_in_a_new_session(legacy_server: ToolServer) -> None:
    assert read(legacy_server).fate is Fate.DONE
    legacy_server.restart()
    assert read(legacy_server).fate is Fate.DONE


@pytest.mark.field("FL-75")
def test_after_a_restart_a_write_is_not_sent_again_but_the_next_one_works(
    legacy_server: ToolServer,
) -> None:
    assert read(legacy_server).fate is Fate.DONE
    legacy_server.restart()
    assert write(legacy_server).fate is Fate.UNKNOWN
    assert len(legacy_server.calls("create_issue")) == 1
    assert write(legacy_server).fate is Fate.DONE


@pytest.mark.field("FL-75")
def test_a_reset_after_the_write_is_not_followed_by_the_write_again(
    legacy_server: ToolServer,
) -> None:
    legacy_server.next("create_issue", reset=True)
    legacy_server.next("create_issue", refuse_status=404)
    assert write(legacy_server).fate is Fate.UNKNOWN
    assert len(legacy_server.effects("create_issue")) == 1
    assert write(legacy_server).fate is Fate.UNKNOWN
    assert write(legacy_server).fate is Fate.DONE
    assert len(legacy_server.calls("create_issue")) == 3


def test_a_connection_cut_while_the_session_opens_costs_no_write(tool_server: ToolServer) -> None:
    """Nothing of the call has left yet: an approved one would be used up by a hiccup of the network."""
    tool_server.next("server/discover", reset=True)
    mcp.open_way(address_for(tool_server))
    assert write(tool_server).fate is Fate.DONE
    assert len(tool_server.calls("create_issue")) == 1


def test_a_session_that_is_cut_off_each_time_is_opened_twice_and_then_given_up(
    tool_server: ToolServer,
) -> None:
    for _ in range(3):
        tool_server.next("server/discover", reset=True)
    mcp.open_way(address_for(tool_server))
    asked = [it for it in tool_server.received if it["method"] == "server/discover"]
    assert len(asked) == 2
    assert write(tool_server).fate is Fate.FAILED
    assert tool_server.calls("create_issue") == []


def test_a_broken_call_does_not_disturb_the_others(any_server: ToolServer) -> None:
    any_server.next("create_issue", before=0.2)
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(write, any_server)
        _until(lambda: any_server.calls("create_issue") != [])
        any_server.next("get_issue", reset=True)
        any_server.next("get_issue", reset=True)
        assert read(any_server).fate is Fate.FAILED
        assert slow.result().fate is Fate.DONE


def test_calls_of_many_runs_do_not_queue_behind_each_other(tool_server: ToolServer) -> None:
    read(tool_server)
    for _ in range(64):
        tool_server.next("get_issue", together=64)
    with ThreadPoolExecutor(64) as pool:
        asked = [pool.submit(read, tool_server, timeout_seconds=20) for _ in range(64)]
        assert [it.result().fate for it in asked] == [Fate.DONE] * 64


def test_a_server_that_is_not_there_means_that_nothing_left() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/mcp"
        address = Address(server="jira", transport="http", url=url, bearer_env="")
        outcome = mcp.call(address, a_payload(), always)
    mcp.close_all()
    assert outcome.fate is Fate.FAILED
    assert outcome.error.startswith("not sent")


def test_a_server_that_never_answers_the_greeting_means_that_nothing_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        address = Address(server="jira", transport="http", url=url, bearer_env="")
        outcome = mcp.call(address, a_payload(timeout_seconds=0.2), always)
        mcp.close_all()
    assert outcome.fate is Fate.FAILED
    assert outcome.error.startswith("not sent")


def test_an_address_inside_our_own_network_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    address = Address(
        server="jira", transport="http", url="http://169.254.169.254/mcp", bearer_env=""
    )
    outcome = mcp.call(address, a_payload(), always)
    mcp.close_all()
    assert outcome.fate is Fate.FAILED
    assert "169.254.169.254" in outcome.error


def test_the_token_comes_from_the_environment_and_only_its_name_is_known(
    tool_server: ToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JIRA_TOOLS_TOKEN", "s3cret")
    address = Address(
        server="jira", transport="http", url=tool_server.url, bearer_env="JIRA_TOOLS_TOKEN"
    )
    assert mcp.call(address, a_payload(), always).fate is Fate.DONE
    assert set(tool_server.tokens) == {"Bearer s3cret"}


@pytest.mark.field("FL-34")
@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (
            '{"structuredContent":{"load":NaN,"max":Infinity},"content":[]}',
            {"load": "NaN", "max": "Infinity"},
        ),
        ('{"structuredContent":{"log":"a\\u0000b"},"content":[]}', {"log": "a\ufffdb"}),
        ('{"structuredContent":{"half":"\\ud83d"},"content":[]}', {"half": "\ufffd"}),
        (
            '{"structuredContent":{"id":123456789012345678901234567890},"content":[]}',
            {"id": 123456789012345678901234567890},
        ),
    ],
)
def test_hostile_values_in_an_answer_become_plain(
    tool_server: ToolServer, raw: str, value: Any
) -> None:
    tool_server.next("get_issue", raw=raw)
    assert read(tool_server).result == value


def test_an_answer_far_over_the_limit_is_not_read_to_its_end(tool_server: ToolServer) -> None:
    raw = '{"structuredContent":{"x":"%s"},"content":[]}' % ("x" * 2_000_000)
    tool_server.next("get_issue", raw=raw)
    outcome = read(tool_server, limit_bytes=1000)
    assert outcome.fate is Fate.FAILED
    assert "longer than" in outcome.error
    tool_server.next("create_issue", raw=raw)
    assert write(tool_server, limit_bytes=1000).fate is Fate.UNKNOWN


@pytest.mark.parametrize("depth", [150, 900, 100_000])
def test_a_bottomless_answer_hurts_nobody(tool_server: ToolServer, depth: int) -> None:
    nested = "[" * depth + "]" * depth
    tool_server.next("get_issue", raw=f'{{"structuredContent":{{"x":{nested}}}}}')
    assert read(tool_server).fate is Fate.FAILED
    assert read(tool_server).fate is Fate.DONE


@pytest.mark.field("FL-77")
def test_a_tool_that_says_that_it_failed_has_failed(any_server: ToolServer) -> None:
    outcome = write(any_server, tool="refuse", args={"why": "field required"})
    assert outcome.fate is Fate.FAILED
    assert "field required" in outcome.error


def test_a_drained_call_is_shut_and_in_doubt_and_others_go_on(any_server: ToolServer) -> None:
    any_server.next("create_issue", after=5)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(write, any_server)
        _until(lambda: any_server.effects("create_issue") != [])
        assert mcp.abandon(["another key"]) == 0
        assert mcp.abandon(["step-key-1"]) == 1
        assert waiting.result(timeout=1).fate is Fate.UNKNOWN
    assert read(any_server).fate is Fate.DONE


def test_a_catalogue_is_read_whole_and_page_by_page(tool_server: ToolServer) -> None:
    assert {tool["name"] for tool in mcp.list_tools(address_for(tool_server))} >= {
        "create_issue",
        "say",
    }
    kind = '"resultType":"complete","ttlMs":0,"cacheScope":"private"'
    for name, more in (("one", ',"nextCursor":"2"'), ("two", "")):
        tool = f'{{"name":"{name}","inputSchema":{{"type":"object"}}}}'
        tool_server.next("tools/list", raw=f'{{{kind},"tools":[{tool}]{more}}}')
    assert [tool["name"] for tool in mcp.list_tools(address_for(tool_server))] == ["one", "two"]


def test_a_catalogue_that_cannot_be_read_says_so(tool_server: ToolServer) -> None:
    tool_server.next("tools/list", status=503)
    with pytest.raises(CatalogueUnreadable, match="jira"):
        mcp.list_tools(address_for(tool_server))
    assert mcp.list_tools(address_for(tool_server))


def _until(holds: Any) -> None:
    deadline = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


class _Proxy:
    """Passes bytes on after a pause, and remembers them."""

    def __init__(self, port: int) -> None:
        self.address = Address(
            server="jira", transport="http", url=f"http://127.0.0.1:{port}/mcp", bearer_env=""
        )
        self.seen = b""


@contextmanager
def _slow_proxy(server: ToolServer) -> Iterator[_Proxy]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = _Proxy(listener.getsockname()[1])
        threading.Thread(target=_accept, args=(listener, proxy, server.port), daemon=True).start()
        yield proxy


def _accept(listener: socket.socket, proxy: _Proxy, port: int) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        upstream = socket.create_connection(("127.0.0.1", port))
        threading.Thread(target=_pass_on, args=(client, upstream, proxy), daemon=True).start()
        threading.Thread(target=_pass_on, args=(upstream, client, None), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket, proxy: _Proxy | None) -> None:
    with source, target:
        try:
            while chunk := source.recv(65536):
                if proxy is not None:
                    proxy.seen += chunk
                    time.sleep(0.05)
                target.sendall(chunk)
        except OSError:
            return


def test_a_session_that_is_closed_while_it_opens_holds_nobody_up(tool_server: ToolServer) -> None:
    for _ in range(3):
        opening = threading.Thread(target=mcp.open_way, args=(address_for(tool_server),))
        opening.start()
        began = time.monotonic()
        mcp.close_all()
        opening.join()
        assert time.monotonic() - began < 5
