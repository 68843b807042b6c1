"""A delegation among the other calls of its step, twice in one, and asked for again."""

from __future__ import annotations

import pytest

from liyagent.gateway.models import DataPolicy
from runs.models import Run
from tests.unit.approvals.conftest import Cut
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.delegating.conftest import Cast, all_ended, carry_all, hands, works


def test_a_step_s_calls_are_made_in_order_around_the_child_each_once(
    world: World, cast: Cast
) -> None:
    asked = (("v/keyed", {"n": 1}), ("agents/reader", {"task": "x"}), ("v/keyed", {"n": 2}))
    cast.lists = {"triage": [calls(*asked), says("done")], "reader": works("reader")}
    world.start()
    parent, child = carry_all(world)
    assert (parent.status, child.status) == ("answered", "answered")
    assert [it.get("n") or it["by"] for it in world.vendor.of("keyed")] == [1, "reader", 2]
    assert len(cast.told("triage")) == 3
    assert cast.told("triage")[1] == "all done"


def test_two_delegations_of_one_step_are_two_children_one_after_the_other(
    world: World, cast: Cast
) -> None:
    asked = (("agents/reader", {"task": "one"}), ("agents/fixer", {"task": "two"}))
    cast.lists = {
        "triage": [calls(*asked), says("done")],
        "reader": works("reader", text="read"),
        "fixer": works("fixer", text="fixed"),
    }
    parent = world.start()
    world.process("first").carry()
    assert Run.objects.filter(parent_id=parent.id).count() == 1
    parent, *children = carry_all(world)
    assert [it.agent_key for it in children] == ["reader", "fixer"]
    assert cast.told("triage") == ["read", "fixed"]
    assert all_ended()


def test_the_same_work_twice_in_one_step_is_two_children(world: World, cast: Cast) -> None:
    asked = (("agents/reader", {"task": "one"}), ("agents/reader", {"task": "one"}))
    cast.lists = {"triage": [calls(*asked), says("done")], "reader": [says("read")]}
    world.start()
    parent, *children = carry_all(world)
    assert (parent.status, len(children)) == ("answered", 2)
    assert cast.told("triage") == ["read", "read"]


def test_work_that_failed_may_be_handed_down_again_word_for_word(world: World, cast: Cast) -> None:
    """Ruling 8 holds back what may have happened already; of a child that ended everything is known."""
    cast.lists = {
        "triage": [hands("reader"), hands("reader"), says("done")],
        "reader": [says("  ")],
    }
    world.start()
    parent, *children = carry_all(world)
    assert (parent.status, [it.status for it in children]) == ("answered", ["failed", "failed"])
    assert [it.fate for it in (world.call(parent, 1), world.call(parent, 2))] == ["failed"] * 2


@pytest.mark.field("FL-47")
def test_work_without_a_task_is_an_error_result(world: World, cast: Cast) -> None:
    cast.lists = {
        "triage": [
            calls(("agents/reader", {}), ("agents/reader", {"task": ""}), ("agents/reader", {"task": "x", "y": 1})),
            says("done"),
        ]
    }  # fmt: skip
    world.start()
    (parent,) = carry_all(world)
    assert parent.status == "answered"
    assert all("the call of agents/reader was not made" in it for it in cast.told("triage"))


def test_what_a_data_policy_masks_reaches_no_child(world: World, cast: Cast) -> None:
    DataPolicy.objects.create(name="mail", kind="email", action="mask")
    cast.lists = {
        "triage": [hands("reader", task="ask jo@example.com about it"), says("done")],
        "reader": [says("asked")],
    }
    world.start()
    carry_all(world)
    (asked,) = (it for it in cast.asked if it.model == "reader")
    assert "example.com" not in asked.messages[-1].text


def test_a_policy_that_forbids_the_work_while_it_is_on_its_way_leaves_it_undone(
    world: World, cast: Cast, cut: Cut
) -> None:
    """Ruling 5: what changed is told by the very commit that would have handed it down."""
    cast.lists = {"triage": [hands("reader"), says("done")], "reader": works("reader")}
    world.start()
    forbid = (
        'UPDATE gateway_policy SET text = text || \'@id("no") forbid(principal, action, resource in'
        ' Server::"agents");\''
    )
    cut("liyagent_delegate", act=lambda: world.sql(forbid) and None)
    (parent,) = carry_all(world)
    assert parent.status == "answered"
    assert "no forbids agent triage to call agents/reader" in cast.told("triage")[0]
    assert not world.sql("SELECT 1 FROM runs_call")
