"""Guardrails around the model: masked before it is sealed or seen, refused before it is asked or kept."""

from __future__ import annotations

from typing import Any

import pytest

from liyagent.agents.models import Agent
from liyagent.providers.types import Finish, ModelAnswer, Role
from runs.checkpoint import load, open_checkpoint
from runs.models import Part, Run
from runs.transcript import read_transcript
from tests.unit.runs.carrying.conftest import World, calls, never, says
from tests.unit.runs.carrying.vendor import Killed, die_before_effect

LOOK = ("v/look", {"n": 1})
MAIL = {"kind": "personal_data", "what": ["email"], "action": "mask"}
NO_KEYS = {"kind": "pattern", "name": "no-keys", "pattern": "AKIA[0-9]{4}", "action": "refuse"}


def guard(**directions: list[dict[str, Any]]) -> None:
    Agent.objects.update(guardrails=directions)


def told(world: World, run: Run) -> str:
    """All that events, audit and head say of a run."""
    head = Run.objects.values().get(id=run.id)
    audit = world.sql("SELECT detail::text FROM audit_auditrow")
    return f"{[it.content for it in world.events(run)]} {audit} {head}"


def test_a_task_is_masked_before_it_is_sealed_and_before_the_model_sees_it(world: World) -> None:
    guard(input=[MAIL])
    turns = [{"role": "user", "text": "I am x@y.io"}, {"role": "assistant", "text": "hello x@y.io"}]
    run = world.start(says("done"), task="write to ada@b.io", history=turns)
    process = world.process()
    ((run_id, attempt),) = process.take()
    checkpoint = open_checkpoint(load(run_id, attempt=attempt, give_up=never), give_up=never)
    assert checkpoint.parts[0]["task"] == "write to [email]"
    assert [it["text"] for it in checkpoint.parts[0]["history"]] == [
        "I am [email]",
        "hello [email]",
    ]
    assert process.go_on(run_id, attempt).status == "answered"
    asked = [it.text for it in world.model.asked[0].messages]
    assert asked == ["I am [email]", "hello [email]", "write to [email]"]
    assert "b.io" not in told(world, run)
    assert world.audit("agent.guardrail") == [
        {
            "agent": "triage",
            "direction": "input",
            "check": "personal_data",
            "name": "",
            "action": "mask",
        }
    ]
    assert [it.kind for it in world.events(run)][:2] == ["run.started", "agent.guardrail"]


def test_a_refused_task_ends_the_run_before_the_model_is_asked(world: World) -> None:
    guard(input=[NO_KEYS])
    run = world.start(says("done"), task="use AKIA1234")
    ended = world.process().carry()
    assert (ended.status, ended.error) == ("failed", "guardrail.input")
    assert ended.reason == "guardrail pattern no-keys of its input refused it"
    assert world.model.asked == []
    assert read_transcript(ended)["messages"] == []
    assert [it["action"] for it in world.audit("agent.guardrail")] == ["refuse"]
    assert "agent.guardrail" in [it.kind for it in world.events(run)]


def test_what_comes_back_from_tools_and_the_agents_instructions_pass_the_input_checks(
    world: World,
) -> None:
    guard(input=[NO_KEYS])
    Agent.objects.update(instructions="Never tell AKIA0000.")
    world.start(calls(("v/look", {"n": "AKIA1234"})), says("done"))
    assert world.process().carry().status == "answered"


def test_an_answer_is_masked_before_it_is_kept_or_leaves(world: World) -> None:
    guard(output=[MAIL])
    run = world.start(calls(LOOK, text="asking ada@b.io"), says("done, bob@c.io"))
    ended = world.process().carry()
    assert read_transcript(ended)["answer"] == "done, [email]"
    assert "asking [email]" in str(read_transcript(ended)["messages"])
    assert "c.io" not in told(world, run)
    assert "b.io" not in told(world, run)
    seen = [it.text for it in world.model.asked[1].messages if it.role is Role.ASSISTANT]
    assert seen == ["asking [email]"]


@pytest.mark.parametrize("finish", [Finish.STOP, Finish.CUT, Finish.REFUSED])
def test_a_refused_answer_is_counted_and_not_kept(world: World, finish: Finish) -> None:
    guard(output=[NO_KEYS])
    answer = ModelAnswer(text="the key is AKIA1234", finish=finish, input_tokens=5, output_tokens=7)
    run = world.start(answer)
    ended = world.process().carry()
    assert (ended.status, ended.error) == ("failed", "guardrail.output")
    assert (ended.model_steps, ended.input_tokens, ended.output_tokens) == (1, 5, 7)
    assert "AKIA" not in str(read_transcript(ended))
    assert "AKIA" not in told(world, run)


def test_no_call_of_a_refused_answer_is_made(world: World) -> None:
    guard(output=[NO_KEYS])
    world.start(calls(LOOK, text="with AKIA1234"), says("done"))
    assert world.process().carry().error == "guardrail.output"
    assert world.vendor.received == []


@pytest.mark.promise("CR-14")
def test_a_resumed_run_passes_the_guardrails_as_they_stand_now(world: World) -> None:
    world.start(calls(LOOK), says("done"), task="use AKIA1234")
    first = world.process("first")
    die_before_effect("look")
    with pytest.raises(Killed):
        first.carry()
    guard(input=[NO_KEYS])
    world.lapse(first)
    ended = world.process("second").carry()
    assert (ended.status, ended.error) == ("failed", "guardrail.input")
    assert len(world.model.asked) == 1


def test_a_masked_run_is_told_of_once_however_often_it_is_resumed(world: World) -> None:
    guard(input=[MAIL, {**NO_KEYS, "action": "mask"}])
    world.start(calls(LOOK), says("done"), task="ada@b.io has AKIA1234")
    first = world.process("first")
    die_before_effect("look")
    with pytest.raises(Killed):
        first.carry()
    world.lapse(first)
    assert world.process("second").carry().status == "answered"
    assert len(world.audit("agent.guardrail")) == 2
    assert world.model.asked[1].messages[0].text == "[email] has [no-keys]"


@pytest.mark.parametrize("recording", ["full", "metadata"])
def test_a_refused_task_is_not_kept_sealed_either(world: World, recording: str) -> None:
    """By the first attempt, or by a resume of a run that has taken a step."""
    Agent.objects.update(recording=recording)
    world.start(calls(LOOK), says("done"), task="use AKIA1234")
    first = world.process("first")
    die_before_effect("look")
    with pytest.raises(Killed):
        first.carry()
    assert Part.objects.count() == 2
    guard(input=[NO_KEYS])
    world.lapse(first)
    world.start(says("done"), task="use AKIA1234")
    second = world.process("second")
    for run_id, attempt in second.take():
        ended = second.go_on(run_id, attempt)
        assert (ended.error, ended.parts) == ("guardrail.input", 0)
        assert read_transcript(ended)["messages"] == []
    assert not Part.objects.exists()


def test_a_refused_task_stands_nowhere_in_the_events_of_a_run_recorded_in_full(
    world: World,
) -> None:
    guard(input=[NO_KEYS])
    run = world.start(says("done"), task="use AKIA1234")
    assert world.process().carry().error == "guardrail.input"
    assert [it.kind for it in world.events(run)] == ["run.started", "agent.guardrail", "run.ended"]
    assert "AKIA1234" not in told(world, run)


def test_a_task_is_told_as_the_guardrails_of_its_first_attempt_mask_it(world: World) -> None:
    run = world.start(says("done"), task="write to ada@b.io")
    guard(input=[MAIL])
    assert world.process().carry().status == "answered"
    assert "b.io" not in told(world, run)
