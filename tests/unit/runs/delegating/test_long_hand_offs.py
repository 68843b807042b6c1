"""What is handed over is of 1 MiB at the most: of longer words the digest and length are, and they verify (HO-01, HO-03)."""

from __future__ import annotations

from typing import Any

import pytest

from liyagent.gateway.models import Tool
from tests.fakes.remote_agent import RemoteAgent
from tests.unit.runs.carrying.conftest import World, calls, says, world
from tests.unit.runs.carrying.test_remote_agents import agent, asks
from tests.unit.runs.delegating.conftest import Cast, carry_all, cast, hands, works
from tests.unit.runs.delegating.handing import bodies, threads

__all__ = ["agent", "cast", "world"]

MOST = 1 << 20
AROUND = len('{"answer":"","status":"answered"}')


def is_digest(value: Any, *, least: int) -> bool:
    return set(value) == {"sha256", "bytes"} and value["bytes"] > least


@pytest.mark.promise("HO-01", "HO-03")
@pytest.mark.parametrize("size", [MOST - AROUND, MOST - AROUND + 1, 3 * MOST])
def test_a_long_answer_of_a_sub_agent(world: World, cast: Cast, size: int) -> None:
    answer = "a" * size
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": works("reader", text=answer)}
    run = world.start()
    carry_all(world)
    run.refresh_from_db()
    assert run.status == "answered"
    (thread,) = threads()
    back = bodies(thread)[1]["answer"]
    assert back == answer if size + AROUND <= MOST else is_digest(back, least=size)


@pytest.mark.promise("HO-01", "HO-03")
def test_a_long_answer_of_a_remote_agent(world: World, agent: RemoteAgent) -> None:
    agent.answer = "a" * (3 * MOST)
    Tool.objects.filter(name="ask").update(limit_bytes=8 * MOST)
    world.start(calls(asks()), says("full"))
    assert world.process().carry().status == "answered"
    (thread,) = threads()
    assert is_digest(bodies(thread)[1]["answer"], least=3 * MOST)
