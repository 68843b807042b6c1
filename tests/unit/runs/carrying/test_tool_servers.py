"""Runs whose tools are on servers that restart, fail and answer late, judged from the servers' own ledgers."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from liyagent.agents.models import Agent
from liyagent.gateway import commands, mcp
from liyagent.gateway.models import Tool, ToolServer
from tests.fakes.stdio_server import StdioServer
from tests.fakes.tool_server import ToolServer as HttpServer
from tests.unit.runs.carrying.conftest import World, calls, says

READS = ("get_issue", "find_issue")
WRITES = ("create_issue", "refuse", "say")
READER = {
    "tool": "far/find_issue",
    "args": {"step_key": "{{ key }}"},
    "match": {"records": "issues", "field": "step_key"},
}


@dataclass(slots=True)
class Far:
    """One server called `far`, over whichever transport."""

    fake: Any
    kind: str
    restart: Callable[[], None]

    def fall(self) -> None:
        """After its next issue is made the server is gone before it answers, and knows no session after that."""
        if self.kind == "stdio":
            self.fake.next("create_issue", die_after=True)
        else:
            self.fake.next("create_issue", reset=True)

    def effects(self) -> list[Any]:
        """The issues that were made."""
        return list(self.fake.effects("create_issue"))

    def sent(self) -> list[str]:
        """The step keys of the calls that arrived to make one."""
        return [it["_meta"]["io.liyagent/step-key"] for it in self.fake.calls("create_issue")]


@pytest.fixture(params=["http", "sessions", "stdio"])
def far(
    request: pytest.FixtureRequest,
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Far]:
    """A server over HTTP, over HTTP with sessions and streams, and by stdio, in turn."""
    Agent.objects.update(tool_patterns=["v/*", "far/*"])
    if request.param == "stdio":
        program = StdioServer(tmp_path / "far", server="far")
        monkeypatch.setattr(commands, "registered_commands", lambda: {"fake": program.command})
        add_server(transport="stdio", command="fake")
        yield Far(program, "stdio", lambda: kill(program))
        mcp.close_all()
        return
    has_sessions = request.param == "sessions"
    with HttpServer(legacy=has_sessions, json_response=not has_sessions, has_search=True) as server:
        add_server(transport="http", url=server.url)
        yield Far(server, request.param, server.restart)
        mcp.close_all()


def add_server(**columns: str) -> None:
    """Keep its row and the contracts of its tools."""
    row = ToolServer.objects.create(key="far", **columns)
    for name in (*READS, *WRITES):
        effect = "read" if name in READS else "write"
        Tool.objects.create(server=row, name=name, effect=effect, timeout_seconds=5)


def kill(program: StdioServer) -> None:
    """The child dies, and its death is seen."""
    os.kill(program.memory("starts")[-1]["pid"], signal.SIGKILL)
    until(lambda: not mcp._running.get()[1].is_open(program.address))


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that happens soon."""
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def issue(n: int) -> tuple[str, dict[str, Any]]:
    """A call that makes an issue."""
    return "far/create_issue", {"title": f"disk {n} full"}


LOOK = ("far/get_issue", {"id": "OPS-7"})


@pytest.mark.field("FL-75")
def test_a_server_that_restarts_before_a_read_is_read_in_a_new_session(
    world: World, far: Far
) -> None:
    run = world.start(
        calls(LOOK), calls(("v/look", {})), calls(LOOK), calls(issue(1)), says("done")
    )
    world.vendor.before_effect = lambda _tool: far.restart()
    assert world.process().carry().status == "answered"
    assert '"id":"OPS-7"' in world.model.results()[-2]
    assert world.call(run, 4).fate == "done"
    assert len(far.effects()) == len(far.sent()) == 1


@pytest.mark.field("FL-75")
def test_a_server_that_restarts_before_a_write_is_sent_it_once_and_later_calls_work(
    world: World, far: Far
) -> None:
    run = world.start(
        calls(LOOK),
        calls(("v/look", {})),
        calls(issue(1)),
        calls(issue(2)),
        calls(LOOK),
        says("done"),
    )
    world.vendor.before_effect = lambda _tool: far.restart()
    assert world.process().carry().status == "answered"
    first, second = world.call(run, 3), world.call(run, 4)
    assert second.fate == "done"
    # A session that the server does not know is told by 404, and a proxy could say so after the server has acted.
    forgot = far.kind == "sessions"
    assert (first.fate, first.settlement) == (
        ("unknown", "told_unknown") if forgot else ("done", "answered")
    )
    assert far.sent() == [first.step_key, second.step_key]
    assert len(far.effects()) == (1 if forgot else 2)
    assert '"id":"OPS-7"' in world.model.results()[-1]


@pytest.mark.field("FL-75")
@pytest.mark.parametrize("has_reader", [False, True], ids=["blind", "readable"])
def test_a_server_that_restarts_after_it_acted_and_before_it_answered_is_not_sent_the_write_again(
    world: World, far: Far, has_reader: bool
) -> None:
    if has_reader:
        make_readable()
    run = world.start(calls(issue(1)), calls(issue(2)), calls(LOOK), says("done"))
    far.fall()
    assert world.process().carry().status == "answered"
    first, second = world.call(run, 1), world.call(run, 2)
    expected = ("done", "read_back") if has_reader else ("unknown", "told_unknown")
    assert (first.fate, first.settlement) == expected
    assert second.fate == "done"
    assert far.sent() == [first.step_key, second.step_key]
    assert len(far.effects()) == 2
    assert '"id":"OPS-7"' in world.model.results()[-1]


@pytest.mark.field("FL-77")
def test_what_server_and_tool_say_decides_about_success_and_no_text(world: World, far: Far) -> None:
    run = world.start(
        calls(("far/refuse", {"why": "field required"})),
        calls(issue(1)),
        calls(("far/say", {"text": "Error: nothing of the kind"})),
        says("done"),
    )
    far.fake.next("create_issue", rpc_error=-32602)
    assert world.process().carry().status == "answered"
    assert [world.call(run, step).fate for step in (1, 2, 3)] == ["failed", "failed", "done"]
    refused, invalid, said = world.model.results()
    assert "field required" in refused
    assert "-32602" in invalid
    assert "Error: nothing of the kind" in said
    told = [it.content for it in world.events(run) if it.kind == "tool.call"]
    assert ['"fate":"failed"' in it for it in told] == [True, True, False]


@pytest.mark.field("FL-78")
@pytest.mark.parametrize("has_reader", [False, True], ids=["blind", "readable"])
def test_a_write_that_is_answered_after_its_time_is_settled_as_in_doubt_and_the_run_goes_on(
    world: World, far: Far, has_reader: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The literal 30 and 45 seconds, scaled to a hundredth."""
    if has_reader:
        make_readable()
    Tool.objects.filter(name="create_issue").update(timeout_seconds=0.3)
    run = world.start(calls(LOOK), calls(issue(1)), calls(LOOK), says("done"))
    far.fake.next("create_issue", after=0.45)
    with caplog.at_level(logging.WARNING, logger="liyagent.gateway.exchange"):
        assert world.process().carry().status == "answered"
        until(lambda: "a late answer of far/create_issue is ignored: done" in caplog.text)
    call = world.call(run, 2)
    expected = ("done", "read_back") if has_reader else ("unknown", "told_unknown")
    assert (call.fate, call.settlement) == expected
    assert (call.late_look_at is None) is has_reader
    assert far.sent() == [call.step_key]
    assert len(far.effects()) == 1
    assert has_reader or "unknown" in world.model.results()[1]


def test_mission_and_step_key_travel_with_each_call(world: World, far: Far) -> None:
    run = world.start(calls(issue(1)), calls(LOOK), says("done"), mission="INC-4711")
    world.process().carry()
    (written,), (read,) = far.fake.calls("create_issue"), far.fake.calls("get_issue")
    assert written["_meta"]["io.liyagent/step-key"] == world.call(run, 1).step_key
    assert {it["_meta"]["io.liyagent/mission"] for it in (written, read)} == {"INC-4711"}


def make_readable() -> None:
    """An issue keeps our key and is found again by it."""
    Tool.objects.filter(name="create_issue").update(
        key_place="argument", key_field="step_key", reader=READER
    )
