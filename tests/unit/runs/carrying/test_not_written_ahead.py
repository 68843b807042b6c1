"""With TICKETIQ_CRASH_RESUME_ENTRIES off, what came in by some ways is carried once, and interrupted by a death (CR-07)."""

from __future__ import annotations

import dataclasses

import pytest
from django.conf import LazySettings

from liyagent.agents.models import Agent
from runs.models import Part, Run
from runs.transcript import read_transcript
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect

WAYS = ("cron", "webhook", "ticket", "copilot", "teams")


@pytest.fixture
def off(settings: LazySettings) -> None:
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, crash_resume_entries=False)


def is_ahead(world: World, entry: str) -> bool:
    return world.start(says("done"), entry=entry).is_written_ahead


@pytest.mark.promise("CR-07")
@pytest.mark.parametrize("way", WAYS)
def test_by_default_what_came_in_by_these_ways_is_written_ahead(world: World, way: str) -> None:
    assert is_ahead(world, way)


@pytest.mark.promise("CR-07")
@pytest.mark.usefixtures("off")
@pytest.mark.parametrize("way", WAYS)
def test_switched_off_only_those_that_may_wait_are(world: World, way: str) -> None:
    assert not is_ahead(world, way)
    Agent.objects.update(may_wait=True)
    assert is_ahead(world, way)
    Agent.objects.update(may_wait=False, tool_patterns=["v/*", "agents/helper"])
    assert is_ahead(world, way)


@pytest.mark.usefixtures("off")
@pytest.mark.parametrize("way", ["api", "a2a", "playground", "cli"])
def test_the_other_ways_always_are(world: World, way: str) -> None:
    assert is_ahead(world, way)


@pytest.mark.promise("CR-07")
@pytest.mark.usefixtures("off")
def test_one_that_is_not_written_ahead_is_carried_to_its_end_and_told_in_full(
    world: World,
) -> None:
    run = world.start(
        calls(("v/look", {"n": 1})), calls(("v/keyed", {"n": 2})), says("done"), entry="webhook"
    )
    ended = world.process().carry()
    assert (ended.status, ended.model_steps) == ("answered", 3)
    assert [it.kind for it in Part.objects.filter(run_id=run.id)] == ["start"]
    told = read_transcript(ended)
    assert told["answer"] == "done"
    assert [it["role"] for it in told["messages"]] == [
        "user", "assistant", "tool", "assistant", "tool", "assistant",
    ]  # fmt: skip
    kinds = [it.kind for it in world.events(run)]
    assert kinds.count("step") == 3
    assert kinds.count("tool.call") == 2


@pytest.mark.promise("CR-07")
@pytest.mark.usefixtures("off")
def test_its_process_dies_and_it_is_interrupted_with_its_write_unknown_and_made_once(
    world: World,
) -> None:
    run = world.start(calls(("v/blind", {"n": 1})), says("done"), entry="cron")
    die_after_effect("blind")
    process = world.process()
    with pytest.raises(Killed):
        process.carry()
    world.prove_dead(process)
    ended = world.process("b").carry()
    assert (ended.status, ended.error) == ("interrupted", "not_written_ahead")
    assert "TICKETIQ_CRASH_RESUME_ENTRIES" in ended.reason
    assert world.call(run, 1).fate == "unknown"
    assert len(world.vendor.of("blind")) == 1
    assert len(world.model.asked) == 1


@pytest.mark.usefixtures("off")
def test_one_that_was_taken_and_had_written_nothing_goes_on(world: World) -> None:
    world.start(says("done"), entry="cron")
    process = world.process()
    process.take()
    world.prove_dead(process)
    assert world.process("b").carry().status == "answered"


@pytest.mark.usefixtures("off")
def test_a_drain_leaves_it_alone_until_its_process_ends(world: World) -> None:
    world.start(calls(("v/look", {"n": 1})), says("done"), entry="teams")
    process = world.process()
    process.drains = True
    assert process.carry().status == "answered"


@pytest.mark.usefixtures("off")
def test_it_waits_for_nobody_even_where_its_agent_may_by_now(world: World) -> None:
    run = world.start(calls(("v/keyed", {"n": 1})), says("told"), entry="webhook")
    Agent.objects.update(may_wait=True, write_posture="hold")
    assert world.process().carry().status == "answered"
    assert world.call(run, 1).fate == "held"


@pytest.mark.usefixtures("off")
def test_it_hands_no_work_down_even_where_its_agent_may_by_now(world: World) -> None:
    Agent.objects.create(key="helper", name="Helper", provider="listed", model="list")
    world.start(calls(("agents/helper", {"task": "look"})), says("told"), entry="webhook")
    Agent.objects.filter(key="triage").update(tool_patterns=["v/*", "agents/helper"])
    assert world.process().carry().status == "answered"
    assert "not written ahead" in world.model.results()[-1]
    assert Run.objects.count() == 1
