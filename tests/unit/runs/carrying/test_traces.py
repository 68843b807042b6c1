"""What a collector is told of runs as they are carried: each step, each call, each check, one story across a death."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from liyagent.agents.models import Agent
from liyagent.core.traces_conf import TracesConf
from liyagent.gateway import commands, mcp
from runs.claim_spans import tell_claims
from runs.models import Run
from tests.fakes.collector import Collected, Collector
from tests.fakes.stdio_server import StdioServer
from tests.fakes.tool_server import ToolServer as HttpServer
from tests.fakes.traced import Traces, traced
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_tool_servers import add_server
from tests.unit.runs.carrying.vendor import Killed, die_after_effect

KEYED = ("v/keyed", {"n": 1})
MAIL = {"kind": "personal_data", "what": ["email"], "action": "mask"}
NO_KEYS = {"kind": "pattern", "name": "no-keys", "pattern": "AKIA[0-9]{4}", "action": "refuse"}


@contextmanager
def tracing(patch: pytest.MonkeyPatch, *, has_words: bool = False) -> Iterator[Traces]:
    with Collector() as collector:
        conf = TracesConf(url=f"{collector.url}/v1/traces", has_words=has_words)
        with traced(collector, conf, patch) as made:
            yield made


@pytest.fixture
def traces(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Traces]:
    with tracing(monkeypatch) as made:
        yield made


def story(traces: Traces, run: Run) -> list[Collected]:
    """All that was told of a run once it has ended, by when it began."""
    traces.sending.end(seconds=5)
    return sorted(
        (it for it in traces.collector.spans() if it.attributes["liyagent.run.id"] == str(run.id)),
        key=lambda it: it.began,
    )


@pytest.mark.promise("MI-04")
def test_a_run_that_was_lost_and_resumed_is_one_story_each_span_with_its_mission(
    world: World, traces: Traces
) -> None:
    Agent.objects.update(guardrails={"input": [MAIL], "output": [MAIL]})
    run = world.start(calls(KEYED, text="filing"), says("done"), mission="incident-42")
    first = world.process("first")
    die_after_effect("keyed")
    with pytest.raises(Killed):
        first.carry()
    tell_claims(world.lapse(first), cause="lapse")
    assert world.process("second").carry().status == "answered"
    told = story(traces, run)
    assert [it.of for it in told] == [
        "run",
        "guardrail_check",
        "model_call",
        "guardrail_check",
        "tool_call",
        "sweep",
        "guardrail_check",
        "resume",
        "tool_call",
        "model_call",
        "guardrail_check",
    ]
    whole, resumed = told[0], told[7]
    assert {it.attributes["liyagent.mission.id"] for it in told} == {"incident-42"}
    assert {it.trace for it in told} == {whole.trace}
    assert {it.parent for it in told[1:]} == {whole.id}
    assert resumed.links == ((whole.trace, whole.id),)
    assert [it.attributes["liyagent.run.attempt"] for it in told[1:5]] == [1] * 4
    assert [it.attributes["liyagent.run.attempt"] for it in told[6:]] == [2] * 5
    assert (resumed.attributes["liyagent.loss.cause"], resumed.attributes["liyagent.resume.calls"]) == ("lapse", 1)  # fmt: skip
    again = told[8].attributes
    assert (again["liyagent.call.fate"], again["liyagent.call.settlement"]) == ("done", "sent_with_same_key")  # fmt: skip
    assert again["liyagent.call.step_key"] == world.call(run, 1).step_key
    assert whole.attributes["liyagent.run.status"] == "answered"
    assert [it.attributes.get("gen_ai.response.finish_reasons") for it in told if it.of == "model_call"] == ["calls", "stop"]  # fmt: skip


def test_no_words_are_told_of_a_run_recorded_in_full_that_nobody_asked_for(
    world: World, traces: Traces
) -> None:
    asked = calls(("v/blind", {"n": "secret-1"}), ("secret/tool-2", {}), text="secret-3")
    run = world.start(asked, says("secret-4"), task="secret-5")
    assert world.process().carry().status == "answered"
    told = story(traces, run)
    assert [it.name for it in told if it.of == "tool_call"] == [
        "execute_tool v/blind",
        "execute_tool",
    ]
    assert "secret" not in json.dumps([[it.name, it.message, it.attributes] for it in told])


@pytest.mark.parametrize("recording", ["full", "metadata"])
def test_words_that_were_asked_for_are_those_that_guardrails_left_and_of_full_recording_alone(
    world: World, monkeypatch: pytest.MonkeyPatch, recording: str
) -> None:
    Agent.objects.update(guardrails={"output": [MAIL]}, recording=recording)
    with tracing(monkeypatch, has_words=True) as traces:
        run = world.start(
            calls(("v/blind", {"n": "disk"}), text="ask ada@b.io"), says("told bob@c.io")
        )
        world.process().carry()
        told = story(traces, run)
    words = json.dumps([it.attributes for it in told])
    assert "b.io" not in words
    assert "c.io" not in words
    assert ("told [email]" in words) == ("disk" in words) == (recording == "full")


def test_a_run_that_a_guardrail_refuses_is_told_of_with_the_check_that_did(
    world: World, traces: Traces
) -> None:
    Agent.objects.update(guardrails={"input": [NO_KEYS]})
    run = world.start(says("done"), task="use AKIA1234")
    assert world.process().carry().status == "failed"
    whole, check = story(traces, run)
    assert (whole.of, whole.error, whole.attributes["error.type"]) == (
        "run",
        True,
        "guardrail.input",
    )
    assert (
        check.attributes["liyagent.guardrail.refused"] == "guardrail pattern no-keys of its input"
    )


@pytest.fixture(params=["http", "stdio"])
def far(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """A real tool server over each transport of MCP."""
    if request.param == "stdio":
        program = StdioServer(tmp_path / "far", server="far")
        monkeypatch.setattr(commands, "registered_commands", lambda: {"fake": program.command})
        add_server(transport="stdio", command="fake")
        yield program
        mcp.close_all()
        return
    with HttpServer() as server:
        add_server(transport="http", url=server.url)
        yield server
        mcp.close_all()


def test_a_call_out_says_of_which_span_it_is(world: World, traces: Traces, far: Any) -> None:
    Agent.objects.update(tool_patterns=["far/*"])
    run = world.start(calls(("far/create_issue", {"title": "disk full"})), says("done"))
    assert world.process().carry().status == "answered"
    (call,) = [it for it in story(traces, run) if it.of == "tool_call"]
    (received,) = far.calls("create_issue")
    assert received["_meta"]["traceparent"] == f"00-{call.trace}-{call.id}-01"
    # Nothing of OpenTelemetry's own context leaves by the SDK's hand.
    assert "baggage" not in received["_meta"]


def test_where_no_collector_is_set_a_call_out_says_nothing_of_spans(world: World, far: Any) -> None:
    Agent.objects.update(tool_patterns=["far/*"])
    world.start(calls(("far/create_issue", {"title": "disk full"})), says("done"))
    assert world.process().carry().status == "answered"
    (received,) = far.calls("create_issue")
    assert "traceparent" not in received["_meta"]
