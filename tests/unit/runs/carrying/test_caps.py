"""A run ends at the caps that its agent has, with a code and the cap's value."""

from __future__ import annotations

from dataclasses import replace

import pytest

from liyagent.agents.models import Agent
from liyagent.providers.types import ModelAnswer
from runs.models import Call
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_before_effect

LOOK = ("v/look", {"n": 1})


def used(answer: ModelAnswer, tokens: int) -> ModelAnswer:
    return replace(answer, input_tokens=tokens - 1, output_tokens=1)


def test_a_run_takes_no_more_model_steps_than_allowed(world: World) -> None:
    Agent.objects.update(max_steps=2)
    world.start(calls(LOOK), calls(LOOK), says("done"))
    ended = world.process().carry()
    assert (ended.status, ended.error) == ("failed", "cap.steps")
    assert ended.reason == "the cap of 2 model steps was reached: 2 were taken"
    assert len(world.model.asked) == 2


def test_the_step_that_goes_beyond_the_cap_of_calls_is_stored_and_none_of_its_calls_made(
    world: World,
) -> None:
    Agent.objects.update(max_calls=3)
    world.start(calls(LOOK, LOOK), calls(LOOK, LOOK), says("done"))
    ended = world.process().carry()
    assert (ended.status, ended.error) == ("failed", "cap.calls")
    assert ended.reason == "the cap of 3 calls was reached: 4 were asked for"
    assert (ended.model_steps, ended.calls_made) == (2, 4)
    assert world.vendor.received == ["look", "look"]


def test_a_run_that_asks_for_exactly_as_many_calls_as_allowed_is_answered(world: World) -> None:
    Agent.objects.update(max_calls=2, max_steps=3, max_tokens=30)
    world.start(used(calls(LOOK, LOOK), 29), used(says("done"), 99))
    assert world.process().carry().status == "answered"


def test_no_model_step_is_taken_once_the_tokens_are_used(world: World) -> None:
    Agent.objects.update(max_tokens=30)
    world.start(used(calls(LOOK), 30), says("done"))
    ended = world.process().carry()
    assert (ended.status, ended.error) == ("failed", "cap.tokens")
    assert ended.reason == "the cap of 30 tokens was reached: 30 were used"
    assert len(world.model.asked) == 1


def test_a_run_grows_no_older_than_allowed_waits_included(world: World) -> None:
    Agent.objects.update(max_seconds=60)
    run = world.start(calls(LOOK), says("done"))
    world.sql("UPDATE runs_run SET created_at = created_at - interval '61 s'")
    ended = world.process().carry()
    assert (ended.id, ended.status, ended.error) == (run.id, "failed", "cap.seconds")
    assert ended.reason.startswith("the cap of 60 seconds was reached: 6")
    assert world.model.asked == []


def test_a_cap_is_looked_at_before_each_call(world: World) -> None:
    """Time passes while the first call is made; the second one is not."""
    Agent.objects.update(max_seconds=3600)
    world.start(calls(("v/keyed", {"n": 1}), LOOK), says("done"))
    first = world.process("first")
    die_before_effect("look")
    with pytest.raises(Killed):
        first.carry()
    world.sql("UPDATE runs_run SET created_at = created_at - interval '2 h'")
    world.lapse(first)
    ended = world.process("second").carry()
    assert (ended.status, ended.error) == ("failed", "cap.seconds")
    assert world.vendor.received == ["keyed", "look"]
    assert len(world.model.asked) == 1
    assert Call.objects.get().fate == "done"


def test_a_cap_that_was_lowered_meanwhile_holds_for_a_run_under_way(world: World) -> None:
    world.start(calls(LOOK), says("done"))
    first = world.process("first")
    die_before_effect("look")
    with pytest.raises(Killed):
        first.carry()
    Agent.objects.update(max_steps=1)
    world.lapse(first)
    assert world.process("second").carry().error == "cap.steps"
