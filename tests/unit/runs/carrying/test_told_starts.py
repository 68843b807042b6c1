"""Each run's record begins with its start, told once, wherever its first process dies and however early it ends (EV-01)."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings

from events.kinds import misfit
from liyagent.agents.models import Agent
from runs.models import Run
from runs.stop import stop_run
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_before_effect

TASK = "look after it"


def told(world: World, run: Run) -> list[tuple[str, dict[str, Any]]]:
    """The events of a run, each of which fits its kind, with its start first and once."""
    events = [(it.kind, json.loads(it.content)) for it in world.events(run)]
    kinds = [kind for kind, _ in events]
    assert (kinds[0], kinds.count("run.started")) == ("run.started", 1)
    assert [misfit(kind, content) for kind, content in events] == [""] * len(events)
    return events


def contained(_world: World, _run: Run) -> None:
    Agent.objects.update(is_contained=True)


def removed(world: World, _run: Run) -> None:
    world.sql("DELETE FROM agents_agent")


def stopped(_world: World, run: Run) -> None:
    stop_run(run_id=run.id, actor="op", reason="not now")


@pytest.mark.promise("EV-01")
@pytest.mark.promise("EV-06")
@pytest.mark.parametrize("change", [contained, removed, stopped])
def test_a_run_that_may_not_even_begin_is_told_as_started_and_ended(
    world: World, change: Callable[[World, Run], None]
) -> None:
    """Nothing has looked at its task yet, so that no event has it in words."""
    world.sql("UPDATE agents_agent SET recording = 'full'")
    run = world.start(says("done"), task=TASK)
    change(world, run)
    assert world.process("first").carry().status in {"failed", "stopped"}
    (_, started), (kind, _) = told(world, run)
    assert (kind, started["holder"], started["agent"]) == ("run.ended", "first", "triage")
    if change is not stopped:
        assert started["task"]["bytes"] == len(TASK) + 2


@pytest.mark.promise("EV-01")
def test_a_run_that_ends_its_processes_before_its_first_step_is_told_as_started(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise Killed

    run = world.start(says("done"), task=TASK)
    monkeypatch.setattr(type(world.model), "ask", die)
    for name in ("first", "second", "third"):
        process = world.process(name)
        with pytest.raises(Killed):
            process.carry()
        world.prove_dead(process)
    world.sql("UPDATE runs_run SET not_before = NULL")
    assert world.process("fourth").carry().error == "lost"
    kinds = [kind for kind, _ in told(world, run)]
    assert kinds == ["run.started", "run.resumed", "run.resumed", "run.ended"]


@pytest.mark.promise("EV-01")
@pytest.mark.parametrize("steps", [0, 1])
def test_a_run_that_cannot_be_opened_is_told_as_started_once(
    world: World, settings: Settings, steps: int
) -> None:
    """By the process that ends it, where nothing was told before; it cannot tell the task."""
    run = world.start(calls(("v/look", {"n": 1})), says("done"), task=TASK)
    if steps:
        process = world.process("first")
        die_before_effect("look")
        with pytest.raises(Killed):
            process.carry()
        world.prove_dead(process)
    stop_run(run_id=run.id, actor="op", reason="not now")
    settings.LIYAGENT = dataclasses.replace(
        settings.LIYAGENT, seal_keys=(("other", os.urandom(32)),)
    )
    assert world.process("last").carry().status == "stopped"
    events = told(world, run)
    assert ("task" in events[0][1], events[0][1]["holder"]) == (
        bool(steps),
        "first" if steps else "last",
    )
