"""The root's caps are its family's: what a child uses is used up, for all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from liyagent.agents.models import Agent
from runs.models import Run
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect
from tests.unit.runs.delegating.conftest import Cast, carry_all, hands, the_child


def set_agent(key: str, **caps: Any) -> None:
    Agent.objects.filter(key=key).update(**caps)


def looks(times: int) -> list[Any]:
    return [*(calls(("v/look", {"n": it})) for it in range(times)), says("looked")]


def test_a_child_s_steps_count_on_its_root_s_cap_and_the_parent_is_told_and_ends_too(
    world: World, cast: Cast
) -> None:
    """Four steps: one of the root, three of the child; the root's next one would be the fifth."""
    set_agent("triage", max_steps=4)
    cast.lists = {"triage": [hands("reader"), says("never")], "reader": looks(5)}
    parent = world.start()
    parent, child = carry_all(world)
    assert (child.status, child.error, child.model_steps) == ("failed", "cap.steps", 3)
    assert "the cap of 4 model steps was reached: 4 were taken" in child.reason
    assert (parent.status, parent.error, parent.model_steps) == ("failed", "cap.steps", 1)
    assert world.call(parent, 1).fate == "failed"


def test_a_child_s_own_cap_ends_it_alone_and_the_parent_goes_on(world: World, cast: Cast) -> None:
    set_agent("reader", max_steps=2)
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": looks(5)}
    world.start()
    parent, child = carry_all(world)
    assert (child.error, child.model_steps) == ("cap.steps", 2)
    assert parent.status == "answered"
    assert "reader ended as failed: the cap of 2 model steps was reached" in cast.told("triage")[0]


def test_a_child_s_calls_count_on_its_root_s_cap(world: World, cast: Cast) -> None:
    set_agent("triage", max_calls=2)
    asked = (("v/keyed", {"n": 1}), ("v/keyed", {"n": 2}))
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": [calls(*asked), says("x")]}
    world.start()
    parent, child = carry_all(world)
    assert (child.error, world.vendor.received) == ("cap.calls", [])
    assert "the cap of 2 calls was reached: 3 were asked for" in child.reason
    assert parent.status == "answered"


def test_a_child_s_tokens_count_on_its_root_s_cap(world: World, cast: Cast) -> None:
    set_agent("triage", max_tokens=100)
    dear = replace(calls(("v/look", {})), input_tokens=60, output_tokens=50)
    cast.lists = {"triage": [hands("reader"), says("never")], "reader": [dear, says("never")]}
    world.start()
    parent, child = carry_all(world)
    assert (child.error, parent.error) == ("cap.tokens", "cap.tokens")


def test_a_family_is_as_old_as_its_root_waits_included(world: World, cast: Cast) -> None:
    set_agent("triage", max_seconds=3600)
    cast.lists = {"triage": [hands("reader"), says("never")], "reader": looks(1)}
    parent = world.start()
    world.process("first").carry()
    world.sql(
        "UPDATE runs_run SET created_at = created_at - interval '2 h' WHERE parent_id IS NULL"
    )
    parent, child = carry_all(world)
    assert (child.error, parent.error) == ("cap.seconds", "cap.seconds")
    assert "the cap of 3600 seconds was reached" in child.reason
    assert world.vendor.received == []


def test_what_earlier_children_used_is_used_for_later_ones(world: World, cast: Cast) -> None:
    set_agent("triage", max_steps=6)
    cast.lists = {
        "triage": [hands("reader"), hands("fixer"), says("never")],
        "reader": looks(1),
        "fixer": looks(9),
    }
    world.start()
    parent, first, second = carry_all(world)
    assert (first.status, first.model_steps) == ("answered", 2)
    # Two of the root and two of the first are used: two are left.
    assert (second.error, second.model_steps) == ("cap.steps", 2)
    assert parent.error == "cap.steps"


@pytest.mark.field("FL-81")
def test_a_root_that_is_lost_after_it_heard_its_child_still_counts_what_that_used(
    world: World, cast: Cast
) -> None:
    """The outcome is kept, so nothing asks for the child any more; its use counts all the same."""
    set_agent("triage", max_steps=3)
    asked = (("agents/reader", {"task": "x"}), ("v/keyed", {"n": 1}))
    cast.lists = {"triage": [calls(*asked), says("never")], "reader": looks(1)}
    parent = world.start()
    world.process("first").carry()
    world.process("second").carry()
    third = world.process("third")
    die_after_effect("keyed")
    with pytest.raises(Killed):
        third.carry()
    world.prove_dead(third)
    parent, child = carry_all(world)
    assert child.status == "answered"
    assert (parent.status, parent.error) == ("failed", "cap.steps")


def test_the_lowest_of_three_counts_on_the_root_s_cap(world: World, cast: Cast) -> None:
    set_agent("triage", max_steps=5)
    cast.lists = {
        "triage": [hands("reader"), says("never")],
        "reader": [hands("fixer"), says("never")],
        "fixer": looks(9),
    }
    parent = world.start()
    carry_all(world)
    child = the_child(parent)
    lowest = the_child(child, "fixer")
    assert lowest.model_steps == 3
    assert [it.error for it in Run.objects.order_by("created_at")] == ["cap.steps"] * 3


def test_a_run_by_itself_reads_nothing_of_a_family(
    world: World, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runs import hot  # noqa: PLC0415

    asked: list[str] = []
    real = hot.ask

    def ask(sql: str, *values: Any, **more: Any) -> Any:
        asked.append(sql)
        return real(sql, *values, **more)

    monkeypatch.setattr(hot, "ask", ask)
    cast.lists = {"triage": [calls(("v/keyed", {"n": 1})), says("done")]}
    world.start()
    carry_all(world)
    assert asked
    assert not any("sum(model_steps)" in it for it in asked)
