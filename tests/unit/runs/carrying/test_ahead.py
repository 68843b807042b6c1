"""Calls are judged while their step is being written; what changes meanwhile, or later, acts all the same (ruling 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.db import DatabaseError

from liyagent.gateway import contracts
from liyagent.gateway.gates import cedar
from liyagent.gateway.judge import judge
from liyagent.gateway.outcome import Asker, Call, Contract, Effect, Rights
from liyagent.gateway.policies import parse_policies
from liyagent.providers.types import ModelAnswer, ModelRequest
from runs import attempt
from runs.ahead import judge_ahead
from tests.unit.runs.carrying.conftest import PERMIT, World, calls, says
from tests.unit.runs.carrying.test_gates_again import CONTAINED, GATES


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of calls that Cedar was asked about, in order."""
    asked: list[str] = []

    def answer(call: Any, policy: Any) -> Any:
        asked.append(call.name)
        return real(call, policy)

    real = cedar._answer
    monkeypatch.setattr(cedar, "_answer", answer)
    return asked


def while_the_model_answers(world: World, do: Callable[[], object]) -> None:
    """Let something happen after the first step was asked for and before it is written."""

    class Slow(type(world.model)):  # type: ignore[misc]
        def ask(self, request: ModelRequest) -> ModelAnswer:
            if request.steps_taken == 0:
                do()
            return super().ask(request)  # type: ignore[no-any-return]

    world.model.__class__ = Slow


def test_each_call_is_judged_once_while_nothing_changes(world: World, judged: list[str]) -> None:
    world.start(calls(("v/look", {"n": 1}), ("v/blind", {"n": 2})), says("done"))
    assert world.process().carry().status == "answered"
    assert world.vendor.received == ["look", "blind"]
    assert judged == ["v/look", "v/blind"]


@pytest.mark.promise("CR-14")
@pytest.mark.parametrize(("change", "said"), GATES.values(), ids=GATES)
def test_what_changed_before_the_step_was_written_is_judged_by_the_new_word(
    world: World, change: str, said: str
) -> None:
    world.start(calls(("v/look", {}), ("v/blind", {"n": 2})), says("done"))
    while_the_model_answers(world, lambda: world.sql(change))
    assert world.process().carry().status == "answered"
    assert "blind" not in world.vendor.received
    assert said in world.model.results()[1].lower()


@pytest.mark.promise("CR-14")
@pytest.mark.parametrize(("change", "said"), GATES.values(), ids=GATES)
def test_what_changes_between_two_calls_acts_at_the_next_statement_of_the_run(
    world: World, change: str, said: str
) -> None:
    """The first call is a write, so that its mark is told of the change."""
    world.start(calls(("v/keyed", {}), ("v/blind", {"n": 2})), says("done"))

    def change_it(_tool: str) -> None:
        world.sql(change)

    world.vendor.after_effect = change_it
    assert world.process().carry().status == "answered"
    assert world.vendor.received == ["keyed"]
    assert said in world.model.results()[1].lower()


@pytest.mark.promise("CR-17")
@pytest.mark.parametrize("change", CONTAINED.values(), ids=CONTAINED)
def test_an_agent_contained_before_the_step_was_written_calls_nothing(
    world: World, change: str
) -> None:
    world.start(calls(("v/look", {}), ("v/blind", {"n": 2})), says("done"))
    while_the_model_answers(world, lambda: world.sql(change))
    ended = world.process().carry()
    assert (ended.status, ended.model_steps) == ("failed", 1)
    assert "agent triage" in ended.reason
    assert world.vendor.received == []


def test_what_cannot_be_judged_ahead_is_judged_once_the_step_is_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables are away for a moment: looking ahead is given up, and the step is not."""
    run = world.start(calls(("v/blind", {"n": 2})), says("done"))
    looks = iter([DatabaseError("gone for a moment")])

    def contracts_for(*given: Any, **known: Any) -> Any:
        if len(world.model.asked) == 1 and (error := next(looks, None)):
            raise error
        return real(*given, **known)

    real = contracts.contracts_for
    monkeypatch.setattr(attempt, "contracts_for", contracts_for)
    assert world.process().carry().status == "answered"
    assert world.vendor.received == ["blind"]
    assert world.call(run, 1).fate == "done"


def test_a_verdict_holds_for_exactly_the_call_and_the_policies_that_were_judged() -> None:
    policy = parse_policies(PERMIT)
    asker = Asker(
        agent="triage",
        tool_patterns=("v/*",),
        write_posture="allow",
        run_as="",
        rights=Rights(principal="", is_active=False),
        entry="api",
        mission="m",
    )
    call = Call(
        server="v",
        tool="look",
        args={"n": 2},
        index=0,
        provider_call_id="id",
        contract=Contract(server="v", tool="look", effect=Effect.READ),
        asker=asker,
    )
    ahead = judge_ahead([call], policy, config=7)
    assert ahead.judge(replace(call), policy) is ahead.verdicts[0]
    for other in (
        replace(call, args={"n": 3}),
        replace(call, problem="not to be trusted"),
        replace(call, was_write=True),
        replace(call, asker=replace(asker, contained=True)),
        replace(call, index=1),
    ):
        assert ahead.judge(other, policy) == judge(other, policy)
        assert ahead.judge(other, policy) is not ahead.verdicts[0]
    assert ahead.judge(call, parse_policies(PERMIT)) is not ahead.verdicts[0]
