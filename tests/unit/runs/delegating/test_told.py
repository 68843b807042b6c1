"""What is told of work that was handed down: events in the root's chain, each run's own transcript, keys and ids."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

from events.chain import first_break
from events.models import EventHead, RunEvent
from runs.models import Run
from runs.transcript import read_transcript
from tests.unit.runs.carrying.conftest import World, says
from tests.unit.runs.delegating.conftest import Cast, carry_all, hands, the_child, works


@pytest.fixture
def family(world: World, cast: Cast) -> Run:
    cast.lists = {
        "triage": [hands("reader", task="look at web-17"), says("told")],
        "reader": works("reader", text="web-17 is well"),
    }
    return world.start(task="see to it")


@pytest.mark.promise("EV-01")
def test_a_child_s_events_stand_in_its_root_s_chain_with_its_own_id(
    world: World, cast: Cast, family: Run
) -> None:
    parent, child = carry_all(world)
    rows = list(RunEvent.objects.order_by("correlation_id", "number"))
    assert {it.correlation_id for it in rows} == {parent.id}
    head = EventHead.objects.get(correlation_id=parent.id)
    assert first_break(rows, correlation_id=parent.id, head=head) is None
    told = [(it.run_id == child.id, it.kind) for it in rows]
    assert told == [
        (False, "run.started"),
        (False, "step"),
        (False, "handoff"),
        (True, "run.started"),
        (True, "handoff"),
        (True, "step"),
        (True, "tool.call"),
        (True, "step"),
        (True, "run.ended"),
        (False, "tool.call"),
        (False, "handoff"),
        (False, "step"),
        (False, "run.ended"),
    ]


def test_each_has_its_own_transcript(world: World, cast: Cast, family: Run) -> None:
    parent, child = carry_all(world)
    of_parent, of_child = read_transcript(parent), read_transcript(child)
    assert [it["role"] for it in of_parent["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert of_parent["messages"][2]["text"] == "web-17 is well"
    assert of_child["messages"][0]["text"] == "look at web-17"
    assert of_child["answer"] == "web-17 is well"


def test_a_child_is_audited_as_its_parent_s_with_the_mission_and_the_request(
    world: World, cast: Cast
) -> None:
    get_user_model().objects.create_user("olga", password="x")
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": works("reader")}
    parent = world.start(mission="m-1", request_id="r-1", started_by="olga")
    world.process("first").carry()
    child = the_child(parent)
    assert (child.mission, child.request_id, child.started_by) == ("m-1", "r-1", "olga")
    started = world.audit("agent.run.started")[-1]
    assert (started["agent"], started["parent"]) == ("reader", str(parent.id))


def test_a_child_s_id_is_behind_its_parent_s_whatever_the_clock_of_its_process(
    world: World, cast: Cast, family: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So whoever locks heads in the order of their ids locks parents first."""
    from liyagent.core import ids  # noqa: PLC0415

    class Clock:
        """An hour behind."""

        @staticmethod
        def time_ns() -> int:
            return (family.id.int >> 80) * 1_000_000 - 3_600_000_000_000

    monkeypatch.setattr(ids, "time", Clock)
    world.process("first").carry()
    assert the_child(family).id > family.id


def test_what_a_child_s_guardrails_mask_is_stored_nowhere(world: World, cast: Cast) -> None:
    from liyagent.agents.models import Agent  # noqa: PLC0415

    Agent.objects.filter(key="reader").update(
        guardrails={"input": [{"kind": "personal_data", "action": "mask", "what": ["email"]}]}
    )
    cast.lists = {
        "triage": [hands("reader", task="ask jo@example.com"), says("told")],
        "reader": works("reader"),
    }
    world.start()
    _, child = carry_all(world)
    assert "example.com" not in read_transcript(child)["messages"][0]["text"]
