"""Calls of a real command by stdio, well and badly behaved: from its ledger, never from what we believe."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from liyagent.gateway import (
    commands,
    mcp,
    mcp_sessions,
    stdio,
    stdio_child,
    stdio_lines,
    stdio_restarts,
)
from liyagent.gateway.mcp_session import CatalogueUnreadable
from liyagent.gateway.outcome import Fate, NotSent, Outcome
from tests.fakes.stdio_server import StdioServer
from tests.unit.gateway.support import a_payload, a_read_payload, always, never


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StdioServer]:
    """A server by stdio whose command is registered; it is ended afterwards."""
    fake = StdioServer(tmp_path / "fake")
    monkeypatch.setattr(commands, "registered_commands", lambda: {"fake": fake.command})
    yield fake
    mcp.close_all()


def write(server: StdioServer, **changes: Any) -> Outcome:
    """One write through the wire."""
    return mcp.call(server.address, a_payload(**changes), always)


def read(server: StdioServer, **changes: Any) -> Outcome:
    """One read through the wire."""
    return mcp.call(server.address, a_read_payload(**changes), always)


def pids(server: StdioServer, what: str = "starts") -> list[int]:
    """The processes of the command, in the order of their starts."""
    return [it["pid"] for it in server.memory(what)]


def is_alive(pid: int) -> bool:
    """Whether a process runs and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that happens soon."""
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_exact_arguments_key_and_mission_arrive(server: StdioServer) -> None:
    args = {
        "title": "über \U0001f600\n",
        "none": None,
        "big": 2**80,
        "list": [None, 1.5, {"x": None}],
    }
    outcome = write(server, args=args)
    assert (outcome.fate, outcome.result) == (Fate.DONE, {"id": "OPS-1"})
    (received,) = server.calls("create_issue")
    assert received["arguments"] == args
    assert received["_meta"]["io.liyagent/step-key"] == "step-key-1"
    assert received["_meta"]["io.liyagent/mission"] == "m-1"


def test_not_one_byte_of_a_call_leaves_once_its_mark_has_lapsed(server: StdioServer) -> None:
    with pytest.raises(NotSent):
        mcp.call(server.address, a_payload(), never)
    assert write(server, key="another").fate is Fate.DONE
    assert [it["_meta"]["io.liyagent/step-key"] for it in server.calls("create_issue")] == [
        "another"
    ]


def test_the_mark_is_asked_when_the_child_can_take_the_bytes_and_not_before(
    server: StdioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that reads nothing for a while: the mark of the call that waits behind a long one has lapsed by then."""
    assert read(server).fate is Fate.DONE
    server.next("reading", stop=True)
    write(server, timeout_seconds=0.2)
    asked: list[str] = []

    def never_again() -> bool:
        asked.append("asked")
        return True

    # A line that leaves no page of the pipe free: the next one has begun to be written, and not to leave.
    long = a_payload(args={"title": "x" * 64_000}, key="long", timeout_seconds=1.0)
    with ThreadPoolExecutor(2) as pool:
        filling = pool.submit(mcp.call, server.address, long, always)
        until(has_begun_to_leave)
        waiting = pool.submit(
            mcp.call, server.address, a_payload(key="waits", timeout_seconds=0.3), never_again
        )
        assert filling.result().fate is Fate.UNKNOWN
        outcome = waiting.result()
    assert outcome.fate is Fate.FAILED
    assert outcome.error.startswith("not sent")
    assert asked == []


def has_begun_to_leave() -> bool:
    """Whether the first bytes of the one call that is on its way are in the child's input."""
    _, sessions = mcp._running.get()
    return any(exchange.has_left for exchange in list(sessions._exchanges.values()))


@pytest.mark.parametrize("held", ["write", "read"])
def test_a_child_that_takes_no_input_is_ended_and_the_next_use_starts_another(
    server: StdioServer, monkeypatch: pytest.MonkeyPatch, held: str
) -> None:
    monkeypatch.setattr(stdio, "STUCK_SECONDS", 0.2)
    server.next("reading", stop=True)
    read(server)
    sent = write(server, args={"title": "x" * 300_000})
    assert sent.fate is Fate.UNKNOWN
    assert "read nothing" in sent.error
    assert (write if held == "write" else read)(server).fate is Fate.DONE
    assert len(pids(server)) == 2
    until(lambda: not is_alive(pids(server)[0]))


@pytest.mark.field("FL-75")
def test_a_child_that_dies_after_the_write_leaves_it_unknown_and_the_next_use_starts_another(
    server: StdioServer,
) -> None:
    server.next("create_issue", die_after=True)
    outcome = write(server)
    assert outcome.fate is Fate.UNKNOWN
    assert "the command ended" in outcome.error
    assert len(server.effects("create_issue")) == len(server.calls("create_issue")) == 1
    assert write(server, key="another").fate is Fate.DONE
    assert len(pids(server)) == 2


@pytest.mark.field("FL-75")
def test_a_child_that_is_gone_before_the_write_means_that_nothing_was_lost(
    server: StdioServer,
) -> None:
    assert read(server).fate is Fate.DONE
    os.kill(pids(server)[0], signal.SIGKILL)
    until(lambda: not mcp._running.get()[1].is_open(server.address))
    mcp.open_way(server.address)
    assert write(server).fate is Fate.DONE
    assert len(server.calls("create_issue")) == 1
    assert len(pids(server)) == 2


@pytest.mark.field("FL-75")
def test_a_read_whose_child_died_is_made_again_by_another(server: StdioServer) -> None:
    server.next("get_issue", die_before=True)
    assert read(server).fate is Fate.DONE
    assert len(pids(server)) == 2


def test_the_death_of_a_child_that_was_given_up_leaves_its_successor_alone(
    server: StdioServer,
) -> None:
    """A catalogue that cannot be read ends a session; its last call is still waited for beside the next child."""
    assert read(server).fate is Fate.DONE
    server.next("create_issue", before=30)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(write, server, timeout_seconds=30)
        until(lambda: server.calls("create_issue") != [])
        server.next("tools/list", rpc_error=-32603)
        with pytest.raises(CatalogueUnreadable):
            mcp.list_tools(server.address)
        assert read(server).fate is Fate.DONE
        os.kill(pids(server)[0], signal.SIGKILL)
        assert waiting.result().fate is Fate.UNKNOWN
    assert read(server).fate is Fate.DONE
    assert len(pids(server)) == 2


def test_a_write_to_a_pipe_that_nobody_reads_was_not_sent(
    server: StdioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child is gone and its death is not noticed yet: the kernel took not one byte."""
    assert read(server).fate is Fate.DONE

    def broken(_fd: int, _data: Any) -> int:
        raise BrokenPipeError

    monkeypatch.setattr(os, "write", broken)
    outcome = write(server)
    assert outcome.fate is Fate.FAILED
    assert outcome.error.startswith("not sent")
    monkeypatch.undo()


@pytest.mark.field("FL-78")
def test_a_write_that_times_out_is_unknown_and_its_late_answer_is_logged(
    server: StdioServer, caplog: pytest.LogCaptureFixture
) -> None:
    assert read(server).fate is Fate.DONE
    server.next("create_issue", after=0.4)
    with caplog.at_level(logging.WARNING, logger="liyagent.gateway.exchange"):
        assert write(server, timeout_seconds=0.2).fate is Fate.UNKNOWN
        until(lambda: "late answer of jira/create_issue is ignored" in caplog.text)
    assert len(server.effects("create_issue")) == 1
    assert not [it for it in server.memory("received") if "cancel" in it.get("method", "")]
    assert read(server).fate is Fate.DONE
    assert len(pids(server)) == 1


def test_several_runs_use_one_child_at_once(server: StdioServer) -> None:
    read(server)
    for _ in range(24):
        server.next("get_issue", together=24)
    with ThreadPoolExecutor(24) as pool:
        args = [{"id": str(n)} for n in range(24)]
        asked = [pool.submit(read, server, args=it, timeout_seconds=20) for it in args]
        assert [it.result().result for it in asked] == args
    assert len(pids(server)) == 1


@pytest.mark.field("FL-77")
def test_what_the_tool_or_the_server_says_decides_and_no_text(server: StdioServer) -> None:
    refused = write(server, tool="refuse", args={"why": "field required"})
    assert (refused.fate, refused.error, refused.by_tool) == (Fate.FAILED, "field required", True)
    server.next("create_issue", rpc_error=-32602)
    assert write(server).fate is Fate.FAILED
    server.next("create_issue", rpc_error=-32603)
    assert write(server).fate is Fate.UNKNOWN
    said = write(server, tool="say", args={"text": "Error: nothing of the kind"})
    assert (said.fate, said.result) == (Fate.DONE, "Error: nothing of the kind")


def test_some_garbage_is_passed_over(server: StdioServer) -> None:
    server.next("create_issue", first=["starting up ...", "", "[]", "{}", "\x00\xff{"], garbage=50)
    assert write(server).fate is Fate.DONE
    assert len(pids(server)) == 1


def test_a_child_of_garbage_alone_is_ended(server: StdioServer) -> None:
    server.next("create_issue", garbage=1000)
    outcome = write(server)
    assert outcome.fate is Fate.UNKNOWN
    assert "no messages" in outcome.error
    assert len(server.effects("create_issue")) == 1


def test_a_line_without_end_ends_the_child_and_fills_no_memory(
    server: StdioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "MOST_LINE_BYTES", 1 << 20)
    monkeypatch.setattr(stdio_lines, "MOST_SKIPPED_BYTES", 1 << 20)
    server.next("create_issue", flood=True)
    outcome = write(server, limit_bytes=1000)
    assert outcome.fate is Fate.UNKNOWN
    assert "longer than" in outcome.error
    until(lambda: not is_alive(pids(server)[0]))


def test_an_answer_that_is_too_long_hurts_its_own_call_alone(
    server: StdioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = '{"structuredContent":{"x":"%s"},"content":[]}' % ("x" * 1_500_000)
    server.next("get_issue", raw=long)
    assert "longer than" in read(server, limit_bytes=1000).error
    monkeypatch.setattr(stdio, "MOST_LINE_BYTES", 1 << 20)
    for tool in ("get_issue", "create_issue"):
        server.next(tool, raw=long)
    assert "too long" in read(server, limit_bytes=1000).error
    assert write(server, limit_bytes=1000).fate is Fate.UNKNOWN
    assert read(server).fate is Fate.DONE
    assert len(pids(server)) == 1


@pytest.mark.parametrize("depth", [150, 900, 100_000])
def test_a_bottomless_answer_hurts_nobody(server: StdioServer, depth: int) -> None:
    nested = "[" * depth + "]" * depth
    server.next("get_issue", raw=f'{{"structuredContent":{{"x":{nested}}}}}')
    assert read(server).fate is Fate.FAILED
    assert read(server).fate is Fate.DONE


def test_what_the_server_asks_of_us_is_answered(server: StdioServer) -> None:
    asked = [
        '{"jsonrpc":"2.0","id":"p1","method":"ping"}',
        '{"jsonrpc":"2.0","id":"r1","method":"roots/list"}',
        '{"jsonrpc":"2.0","method":"notifications/message","params":{}}',
        '{"jsonrpc":"2.0","id":99999,"result":{}}',
    ]
    server.next("get_issue", first=asked)
    assert read(server).fate is Fate.DONE
    until(
        lambda: len([it for it in server.memory("received") if it.get("id") in {"p1", "r1"}]) == 2
    )
    replies = {it["id"]: it for it in server.memory("received") if it.get("id") in {"p1", "r1"}}
    assert replies["p1"]["result"] == {}
    assert replies["r1"]["error"]["code"] == -32601


def test_of_our_environment_a_command_gets_what_its_registration_names(
    server: StdioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TOKEN", "s3cret-token")
    monkeypatch.setenv("OTHER_TOKEN", "another")
    server.env = ("GIT_TOKEN",)
    seen = read(server, tool="environment", args={}).result
    assert seen["GIT_TOKEN"] == "s3cret-token"
    # What its interpreter sets for itself aside.
    assert set(seen) - {"LC_CTYPE"} <= {"GIT_TOKEN", "PATH", "HOME", "LANG"}


def test_a_variable_that_is_not_set_is_told_by_its_name(server: StdioServer) -> None:
    server.env = ("NOT_SET_TOKEN",)
    outcome = write(server)
    assert outcome.fate is Fate.FAILED
    assert "not sent" in outcome.error
    assert "NOT_SET_TOKEN" in outcome.error
    assert pids(server) == []


def test_a_command_that_nobody_registered_is_told_at_use(
    server: StdioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = mcp.call(replace(server.address, command="other"), a_payload(), always)
    assert outcome.fate is Fate.FAILED
    assert "no command 'other' is registered" in outcome.error
    missing = replace(server.command, command="no-such-program-anywhere")
    monkeypatch.setattr(commands, "registered_commands", lambda: {"fake": missing})
    assert "no executable 'no-such-program-anywhere'" in write(server).error


def test_what_it_complains_with_is_in_our_log_bounded_and_without_its_secrets(
    server: StdioServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stdio_child, "MOST_LINES", 3)
    monkeypatch.setenv("GIT_TOKEN", "s3cret-token")
    server.env = ("GIT_TOKEN",)
    server.next("start", say_stderr="using s3cret-token\n" + "x" * 9000 + "\n" + "more\n" * 50)
    with caplog.at_level(logging.INFO, logger="liyagent.gateway.stdio_child"):
        assert read(server).fate is Fate.DONE
        mcp.close_all()
    assert "server jira says: using ***" in caplog.text
    assert "s3cret" not in caplog.text
    assert "lines more" in caplog.text
    assert all(len(record.getMessage()) < 2100 for record in caplog.records)


def test_a_command_that_keeps_dying_is_not_started_over_and_over(
    server: StdioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio_restarts, "FIRST_PAUSE_SECONDS", 60.0)
    for _ in range(20):
        server.next("start", exit=3, say_stderr="no licence")
    outcomes = [write(server) for _ in range(10)]
    assert {it.fate for it in outcomes} == {Fate.FAILED}
    assert len(pids(server)) == 3
    assert "no licence" in outcomes[0].error
    assert "started again in" in outcomes[-1].error
    assert "no licence" in outcomes[-1].error


def test_a_command_that_is_no_server_means_that_nothing_left(
    server: StdioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_sessions, "OPENING_SECONDS", 0.3)
    server.next("start", deaf=True)
    outcome = write(server)
    assert outcome.fate is Fate.FAILED
    assert outcome.error.startswith("not sent")
    assert "did not open within 0.3 s" in outcome.error
    until(lambda: not is_alive(pids(server)[0]))


def test_closing_ends_a_stubborn_command_with_all_that_it_started(server: StdioServer) -> None:
    (server.here / "stubborn").touch()
    server.next("start", helper=True)
    assert read(server).fate is Fate.DONE
    mcp.close_all()
    assert not is_alive(pids(server)[0])
    until(lambda: not is_alive(pids(server, "helpers")[0]))


def test_what_it_started_goes_when_the_command_itself_dies(server: StdioServer) -> None:
    server.next("start", helper=True)
    assert read(server).fate is Fate.DONE
    os.kill(pids(server)[0], signal.SIGKILL)
    until(lambda: not is_alive(pids(server, "helpers")[0]))


DIES = """
import os, sys
sys.path[:0] = {path!r}
import django
os.environ["DJANGO_SETTINGS_MODULE"] = "liyagent.settings"
django.setup()
from pathlib import Path
from liyagent.gateway import commands, mcp
from tests.fakes.stdio_server import StdioServer
from tests.unit.gateway.support import a_read_payload, always
fake = StdioServer(Path({here!r}))
commands.registered_commands = lambda: {{"fake": fake.command}}
fake.next("start", helper=True)
mcp.call(fake.address, a_read_payload(), always)
(fake.here / "stubborn").touch()
os.kill(os.getpid(), 9)
"""


def test_a_command_dies_with_the_process_that_started_it_however_that_dies(tmp_path: Path) -> None:
    here = tmp_path / "dies"
    program = DIES.format(path=sys.path, here=str(here))
    ended = subprocess.run([sys.executable, "-c", program], check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    # Its directory is there already: only what it remembered is looked at.
    remembered = [
        int(line.split(":")[1].strip(" }"))
        for what in ("starts", "helpers")
        for line in (here / what).read_text().splitlines()
    ]
    assert len(remembered) == 2
    until(lambda: not any(is_alive(pid) for pid in remembered))


def test_a_drained_call_is_in_doubt_at_once_and_others_go_on(server: StdioServer) -> None:
    server.next("create_issue", after=5)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(write, server)
        until(lambda: server.effects("create_issue") != [])
        assert mcp.abandon(["step-key-1"]) == 1
        assert waiting.result(timeout=1).fate is Fate.UNKNOWN
    assert read(server).fate is Fate.DONE
    assert len(pids(server)) == 1


def test_a_changed_address_waits_for_the_calls_on_their_way(
    server: StdioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(server.command, name="other")
    registered = {"fake": server.command, "other": other}
    monkeypatch.setattr(commands, "registered_commands", lambda: registered)
    server.next("create_issue", before=0.3)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(write, server)
        until(lambda: server.calls("create_issue") != [])
        moved = replace(server.address, command="other")
        assert mcp.call(moved, a_read_payload(), always).fate is Fate.DONE
        assert waiting.result().fate is Fate.DONE
    first, second = pids(server)
    until(lambda: not is_alive(first))
    assert is_alive(second)


def test_a_catalogue_is_read_and_one_that_cannot_be_says_so(server: StdioServer) -> None:
    assert "create_issue" in {tool["name"] for tool in mcp.list_tools(server.address)}
    server.next("tools/list", rpc_error=-32603)
    with pytest.raises(CatalogueUnreadable, match="jira"):
        mcp.list_tools(server.address)
    server.next("tools/list", die_before=True)
    with pytest.raises(CatalogueUnreadable, match="the command ended"):
        mcp.list_tools(server.address)
    assert mcp.list_tools(server.address)


def test_a_server_of_the_sdk_is_spoken_with(
    server: StdioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (
        "from mcp.server.mcpserver import MCPServer\n"
        "server = MCPServer('real', log_level='CRITICAL')\n"
        "@server.tool()\n"
        "def add(a: int, b: int) -> int:\n"
        "    return a + b\n"
        "server.run('stdio')\n"
    )
    real = replace(server.command, args=("-c", program))
    monkeypatch.setattr(commands, "registered_commands", lambda: {"fake": real})
    outcome = write(server, tool="add", args={"a": 1, "b": 2})
    assert (outcome.fate, outcome.result) == (Fate.DONE, {"result": 3})
    assert [tool["name"] for tool in mcp.list_tools(server.address)] == ["add"]
