"""Work handed to a sub-agent: a run of its own under the root's chain, found again by its key."""

from __future__ import annotations

import pytest

from runs.models import Run
from runs.stop import stop_run
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.delegating.conftest import Cast, carry_all, hands


@pytest.mark.promise("CR-10")
@pytest.mark.promise("CR-23")
def test_the_child_s_answer_comes_back_and_the_parent_slept_meanwhile(
    world: World, cast: Cast
) -> None:
    cast.lists = {
        "triage": [hands("reader"), says("all read")],
        "reader": [calls(("v/look", {"n": 1})), says("nothing new")],
    }
    parent = world.start()
    first = world.process("first").carry()
    assert (first.status, first.holder) == ("waiting", None)
    parent, child = carry_all(world)
    assert (parent.status, child.status) == ("answered", "answered")
    assert (child.parent_id, child.correlation_id) == (parent.id, parent.correlation_id)
    assert child.loop == world.call(parent, 1).step_key
    assert cast.told("triage") == ["nothing new"]
    assert world.vendor.received == ["look"]
    told = [(it.run_id, it.kind) for it in world.events(parent)]
    assert (parent.id, "run.ended") in told
    assert world.events(child)[0].kind == "run.started"


def test_a_child_that_fails_is_an_error_result_and_not_the_parent_s_end(
    world: World, cast: Cast
) -> None:
    cast.lists = {"triage": [hands("reader"), says("it failed")], "reader": [says("  ")]}
    world.start()
    parent, child = carry_all(world)
    assert (parent.status, child.status) == ("answered", "failed")
    assert "reader ended as failed: the model's answer was empty" in cast.told("triage")[0]


@pytest.mark.parametrize(
    ("change", "key", "said"),
    [
        ("", "nobody", "no tool agents/nobody"),
        ("UPDATE agents_agent SET is_contained = true WHERE key = 'reader'", "reader", "no tool"),
        ("", "triage", "would be a circle"),
    ],
)
def test_what_cannot_be_handed_over_is_an_error_result(
    world: World, cast: Cast, change: str, key: str, said: str
) -> None:
    if change:
        world.sql(change)
    cast.lists = {"triage": [hands(key), says("done")]}
    world.start()
    (parent,) = carry_all(world)
    assert parent.status == "answered"
    assert said in cast.told("triage")[0]


def test_work_goes_three_deep_at_most(world: World, cast: Cast) -> None:
    from liyagent.agents.models import Agent  # noqa: PLC0415

    for key in ("third", "fourth"):
        row = Agent.objects.get(key="reader")
        row.pk, row.key, row.model = None, key, key
        row.save(force_insert=True)
    cast.lists = {
        "triage": [hands("reader"), says("done")],
        "reader": [hands("fixer"), says("read")],
        "fixer": [hands("third"), says("fixed")],
        "third": [hands("fourth"), says("done")],
    }
    world.start()
    runs = carry_all(world, most=20)
    assert [it.agent_key for it in runs] == ["triage", "reader", "fixer"]
    assert "3 deep" in cast.told("fixer")[0]
    assert Run.objects.filter(status="answered").count() == 3


def test_a_stop_of_the_parent_stops_the_child(world: World, cast: Cast) -> None:
    cast.lists = {
        "triage": [hands("reader"), says("done")],
        "reader": [calls(("v/look", {"n": 1})), says("never")],
    }
    parent = world.start()
    world.process("first").carry()
    stop_run(run_id=parent.id, actor="op", reason="enough")
    runs = carry_all(world)
    assert [it.status for it in runs] == ["stopped", "stopped"]
    assert world.vendor.received == []
