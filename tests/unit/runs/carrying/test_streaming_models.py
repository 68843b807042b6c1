"""Runs whose model is a real endpoint that streams, in both formats: nothing twice, nothing half."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings

from liyagent.agents.models import Agent
from liyagent.providers.client import client_for
from liyagent.providers.pace import pace_of
from runs import ask
from runs.models import Call, Run, RunStatus
from tests.fakes.anthropic_server import AnthropicServer, block_events, use
from tests.fakes.model_server import DONE, ModelServer, Turn, call, chunk
from tests.unit.runs.carrying.conftest import World
from tests.unit.runs.carrying.vendor import Killed, die_after_effect


@pytest.fixture(params=[ModelServer, AnthropicServer])
def server(
    request: pytest.FixtureRequest, world: World, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModelServer]:
    """The model of agent `triage`, strict as the vendors are."""
    conf = dataclasses.replace(settings.LIYAGENT, allowed_private_hosts=("127.0.0.1",))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    monkeypatch.setattr(ask, "FIRST_PAUSE_SECONDS", 0.001)
    client_for.cache_clear()
    pace_of.cache_clear()
    with request.param() as running:
        provider = "anthropic" if isinstance(running, AnthropicServer) else "openai"
        Agent.objects.update(provider=provider, base_url=running.base_url, is_streaming=True)
        world.start()
        yield running


def asked(server: ModelServer, tool: str, args: Any, *, id_: str) -> Any:
    """A call in the server's format; `args` may be the text of them."""
    if isinstance(server, AnthropicServer):
        return use(tool.replace("/", "__"), args, id=id_)
    return call(tool, args, id=id_)


def writes(server: ModelServer, *ids: str) -> list[Any]:
    return [asked(server, "v/blind", {"n": n}, id_=id_) for n, id_ in enumerate(ids)]


def results(server: ModelServer) -> list[tuple[str, str]]:
    """The id and text of each result in the last request."""
    found = []
    for message in server.bodies[-1]["messages"]:
        if message["role"] == "tool":
            found.append((message["tool_call_id"], message["content"]))
        if message["role"] == "user" and isinstance(message["content"], list):
            blocks = [it for it in message["content"] if it["type"] == "tool_result"]
            found += [(it["tool_use_id"], it["content"]) for it in blocks]
    return found


@pytest.mark.field("FL-45")
@pytest.mark.promise("CR-09")
def test_cumulative_chunks_of_three_writes_are_three_writes(
    world: World, server: ModelServer
) -> None:
    calls = writes(server, "call_aXk1", "call_bXk2", "call_cXk3")
    if isinstance(server, AnthropicServer):
        told = [list(enumerate(calls[:most])) for most in (1, 2, 3)]
        events: list[Any] = [
            it for part in told for at, block in part for it in block_events(at, block)
        ]
        ending = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
        events += [ending, {"type": "message_stop"}]
    else:
        numbered = [{"index": at, **it} for at, it in enumerate(calls)]
        events = [chunk({"tool_calls": numbered[:most]}) for most in (1, 2, 3)]
        events += [chunk({}, finish="tool_calls"), DONE]
    server.turns = [Turn(events=events), Turn(text="done")]
    assert world.process().carry().status == RunStatus.ANSWERED
    assert [row["n"] for row in world.vendor.rows] == [0, 1, 2]
    assert Call.objects.count() == 3
    assert [id_ for id_, _ in results(server)] == ["call_aXk1", "call_bXk2", "call_cXk3"]


@pytest.mark.field("FL-46")
def test_a_call_whose_arguments_break_off_is_not_made_and_its_complete_sibling_is(
    world: World, server: ModelServer
) -> None:
    broken = asked(server, "v/blind", '{"issue":"OPS-7","body":"restart o', id_="toolu_x1")
    server.turns = [Turn(calls=[broken, *writes(server, "toolu_x2")]), Turn(text="done")]
    assert world.process().carry().status == RunStatus.ANSWERED
    assert len(world.vendor.rows) == 1
    (_, said), (_, other) = results(server)
    assert "no JSON object" in said
    assert '"n":0' in other.replace(" ", "")


@pytest.mark.field("FL-46")
def test_no_call_of_a_cut_answer_is_made(world: World, server: ModelServer) -> None:
    reason = "max_tokens" if isinstance(server, AnthropicServer) else "length"
    server.turns = [
        Turn(calls=writes(server, "toolu_1", "toolu_2"), finish=reason),
        Turn(text="done"),
    ]
    assert world.process().carry().status == RunStatus.ANSWERED
    assert world.vendor.received == []
    assert ["cut at its token limit" in said for _, said in results(server)] == [True, True]


@pytest.mark.field("FL-47")
def test_a_tool_that_does_not_exist_is_an_error_result_beside_a_good_one(
    world: World, server: ModelServer
) -> None:
    gone = asked(server, "v/delete_everything", {}, id_="toolu_1")
    good = asked(server, "v/look", {}, id_="toolu_2")
    server.turns = [Turn(text="let me see", calls=[gone, good]), Turn(text="done")]
    assert world.process().carry().status == RunStatus.ANSWERED
    assert world.vendor.received == ["look"]
    (_, said), _ = results(server)
    assert "no tool v__delete_everything" in said
    assert not Call.objects.exists()
    (run,) = Run.objects.all()
    told = [it.content for it in world.events(run) if it.kind == "tool.call"]
    assert ['"fate":"refused"' in it for it in told] == [True, False]


@pytest.mark.field("FL-44")
@pytest.mark.field("FL-49")
@pytest.mark.parametrize(
    "ids", [("toolu_a1", "toolu_b2", "toolu_c3"), ("call_0", "call_0", "call_0")]
)
def test_after_a_crash_each_call_has_one_result_in_order(
    world: World, server: ModelServer, ids: tuple[str, ...]
) -> None:
    look = asked(server, "v/look", {}, id_=ids[0])
    calls = [look, *writes(server, *ids[1:])]
    server.turns = [Turn(calls=calls), Turn(text="done")]
    first = world.process("first")
    die_after_effect("blind")
    with pytest.raises(Killed):
        first.carry()
    world.prove_dead(first)
    ended = world.process("second").carry()
    assert ended.status == RunStatus.ANSWERED, ended.reason
    assert len(server.requests) == 2, "an answered step was asked again"
    told = results(server)
    assert len(told) == 3
    assert ids[0] == ids[1] or tuple(id_ for id_, _ in told) == ids
    assert "unknown" in told[1][1]
    assert [row["n"] for row in world.vendor.rows] == [0, 1]


@pytest.mark.promise("CR-09")
def test_nothing_of_a_stream_that_ends_without_a_finish_is_acted_upon(
    world: World, server: ModelServer
) -> None:
    whole = server.events_of(Turn(calls=writes(server, "toolu_1")), {})
    half = whole[:-2]
    server.turns = [Turn(events=half)] * 6
    ended = world.process().carry()
    assert ended.status == RunStatus.FAILED
    assert "did not say why the model stopped (tried 6 times in " in ended.reason
    assert world.vendor.received == []
    assert ended.losses == 0


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (Turn(raw="<html>\x1b[2Jwelcome</html>"), "welcome"),
        (Turn(raw="{}"), "holds no"),
        (Turn(raw=""), "ended early"),
        (Turn(events=["data: <html>busy</html>\n\n"]), "busy"),
        (Turn(events=['data: {"error": {"type": "overloaded_error", "message": "over"}}\n\n']), "over"),
        (Turn(events=['data: {"error": {"code": 401, "message": "key gone"}}\n\n']), "key gone"),
        (Turn(events=["data: []\n\n"]), "no shape"),
        (Turn(text="x" * 500, cut_after=200), "cannot be reached"),
    ],
)  # fmt: skip
def test_nonsense_ends_the_run_with_the_endpoints_words(
    world: World, server: ModelServer, turn: Turn, said: str
) -> None:
    server.turns = [turn] * 6
    ended = world.process().carry()
    assert ended.status == RunStatus.FAILED
    assert said in ended.reason
    assert "Traceback" not in ended.reason
    assert ended.losses == 0


def test_a_drain_breaks_a_stream_off_and_another_process_asks_anew(
    world: World, server: ModelServer
) -> None:
    server.turns = [Turn(events=[": on\n\n", 60.0]), Turn(text="done")]
    first = world.process("first")

    def drain() -> None:
        while not server.requests:
            threading.Event().wait(0.01)
        first.drains = True

    threading.Thread(target=drain, daemon=True).start()
    back = first.carry()
    assert (back.status, back.losses) == (RunStatus.QUEUED, 0)
    assert world.process("second").carry().status == RunStatus.ANSWERED
    assert len(server.requests) == 2
    assert json.dumps(server.bodies[0]["messages"]) == json.dumps(server.bodies[1]["messages"])
