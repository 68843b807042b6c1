"""Model endpoints that answer nonsense, and tools whose schemas are none: a run ends, and says why."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.conf import settings

from liyagent.agents.models import Agent
from liyagent.gateway.models import Tool
from runs import ask
from runs.models import Call, Run, RunStatus
from tests.fakes.model_server import ModelServer, Turn, call
from tests.unit.runs.carrying.conftest import World

Carry = Callable[[Sequence[Turn]], tuple[Run, ModelServer]]


@pytest.fixture
def carry(world: World, monkeypatch: pytest.MonkeyPatch) -> Carry:
    """Carry a run whose model is a real endpoint that answers these turns."""
    conf = dataclasses.replace(settings.LIYAGENT, allowed_private_hosts=("127.0.0.1",))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    monkeypatch.setattr(ask, "FIRST_PAUSE_SECONDS", 0.001)

    def go(turns: Sequence[Turn]) -> tuple[Run, ModelServer]:
        with ModelServer(turns, strict=False) as server:
            Agent.objects.update(provider="openai", base_url=server.base_url)
            world.start()
            return world.process().carry(), server

    return go


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (Turn(raw="<html>\x1b[2Jwelcome</html>"), "welcome"),
        (Turn(raw="[" * 100_000), "cannot be kept"),
        (Turn(raw='{"choices": [7]}'), "no choice"),
        (Turn(raw='{"choices": {"0": {}}}'), "no choice"),
        (Turn(raw="9" * 5000), "cannot be kept"),
        (Turn(raw='"' + "x" * (20 << 20) + '"'), "larger than"),
        (Turn(raw='{"error": {"code": 400, "message": "no such \\ud800 thing"}}'), "no such"),
        (Turn(status=400, text="your tools are too many"), "your tools are too many"),
        (Turn(raw=b"\xff\xfe\x00"), "is base_url right"),
        (Turn(raw=""), "ended early"),
    ],
)
def test_nonsense_ends_the_run_with_the_endpoints_words(
    carry: Carry, turn: Turn, said: str
) -> None:
    run, _ = carry([turn] * 6)
    assert run.status == RunStatus.FAILED
    assert said in run.reason
    assert len(run.reason) < 1000
    assert run.losses == 0


@pytest.mark.parametrize(
    "asked",
    [
        {"id": None, "type": "function", "function": None},
        {"id": {"a": 1}, "function": {"name": ["x"], "arguments": [1]}},
        {"id": "x", "function": {"name": "", "arguments": "{}"}},
        {"id": "x", "function": {"name": "v__note" + "x" * 100_000, "arguments": "{}"}},
        {"id": "y" * 1_000_000, "function": {"name": "v__nothing", "arguments": "{}"}},
        {"id": "x", "function": {"name": "v__nothing", "arguments": '{"a":' * 5000}},
        {
            "id": "x",
            "function": {"name": "v__nothing", "arguments": '{"a":' * 150 + "1" + "}" * 150},
        },
        7,
        None,
        [],
    ],
    ids=lambda it: json.dumps(it)[:60],
)
def test_a_call_of_any_shape_has_one_result_and_the_run_goes_on(carry: Carry, asked: Any) -> None:
    run, server = carry([Turn(calls=[asked]), Turn(text="done")])
    assert run.status == RunStatus.ANSWERED
    results = [it for it in server.bodies[1]["messages"] if it["role"] == "tool"]
    assert len(results) == 1
    assert len(results[0]["content"]) < 2000
    assert not Call.objects.exists()


def test_a_thousand_calls_in_a_step_have_a_thousand_results(carry: Carry) -> None:
    Agent.objects.update(max_calls=1000)
    asked = [call("v/nothing", id=f"toolu_{n:06}abcdef") for n in range(1000)]
    run, server = carry([Turn(calls=asked), Turn(text="done")])
    assert run.status == RunStatus.ANSWERED
    assert len([it for it in server.bodies[1]["messages"] if it["role"] == "tool"]) == 1000


def test_a_step_of_more_calls_than_can_be_told_apart_ends_the_run(carry: Carry) -> None:
    asked = [call("v/nothing", id="x") for _ in range(1001)]
    run, _ = carry([Turn(calls=asked)] * 6)
    assert run.status == RunStatus.FAILED
    assert "1001 calls" in run.reason


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:1/schema"},
        {"properties": {"text": {"maximum": 10**30}, "a": {"$ref": "#/nowhere"}}},
        {"$schema": ["x"]},
    ],
    ids=str,
)
def test_a_schema_that_is_none_refuses_the_call_and_loses_no_run(
    carry: Carry, schema: dict[str, Any]
) -> None:
    tool = Tool.objects.order_by("name").first()
    assert tool is not None
    Tool.objects.filter(pk=tool.pk).update(schema=schema)
    run, server = carry([Turn(calls=[call(str(tool), {"a": 1})]), Turn(text="done")])
    assert run.status == RunStatus.ANSWERED
    assert "schema of this tool cannot be read" in server.bodies[1]["messages"][-1]["content"]
