"""Processes that die while work is handed down, at every cut: one child, its writes once each, nobody asleep for ever."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from liyagent.core.database import hot_pool
from runs import hot
from runs.errors import LostLease
from runs.models import Run
from tests.unit.approvals.conftest import Cut
from tests.unit.runs.carrying.conftest import World, says
from tests.unit.runs.carrying.test_lasting_threads import LosingPool
from tests.unit.runs.carrying.vendor import Killed, die_after_effect, die_before_effect
from tests.unit.runs.delegating.conftest import (
    Cast,
    all_ended,
    carry_all,
    hands,
    take,
    the_child,
    works,
)

HANDED = "SELECT 1 FROM runs_run WHERE parent_id IS NOT NULL"


@pytest.fixture
def family(world: World, cast: Cast) -> Run:
    """A parent that hands work to one that writes once, and answers."""
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": works("reader")}
    return world.start()


def is_kept(world: World, cast: Cast, parent: Run, *, losses: tuple[int, int] = (0, 0)) -> None:
    """What has to hold whoever died: one child, one write, one answer, and both have ended."""
    child = the_child(parent)
    parent.refresh_from_db()
    assert (parent.status, child.status) == ("answered", "answered")
    assert (parent.losses, child.losses) == losses
    assert len(world.vendor.of("keyed")) == 1
    assert cast.told("triage") == ["all done"]
    assert Run.objects.count() == 2
    call = world.call(parent, 1)
    assert (call.fate, call.settlement) == ("done", "asked_by_delegation_key")
    assert all_ended()


@pytest.mark.promise("CR-23")
@pytest.mark.field("FL-81")
def test_a_parent_killed_before_it_hands_the_work_down_hands_it_down_once(
    world: World, cast: Cast, family: Run, cut: Cut
) -> None:
    first = world.process("first")
    cut("liyagent_delegate")
    with pytest.raises(Killed):
        first.carry()
    assert Run.objects.count() == 1
    assert world.prove_dead(first) == [family.id]
    carry_all(world)
    is_kept(world, cast, family, losses=(1, 0))


@pytest.mark.promise("CR-10")
@pytest.mark.promise("CR-23")
@pytest.mark.field("FL-81")
def test_a_parent_killed_after_it_handed_the_work_down_loses_nothing(
    world: World, cast: Cast, family: Run, cut: Cut
) -> None:
    first = world.process("first")
    cut("liyagent_delegate", is_after=True)
    with pytest.raises(Killed):
        first.carry()
    assert world.prove_dead(first) == []
    carry_all(world)
    is_kept(world, cast, family)


@pytest.mark.promise("CR-10")
@pytest.mark.field("FL-25")
@pytest.mark.field("FL-81")
def test_a_delegation_whose_answer_is_lost_is_asked_again_and_has_one_child(
    world: World, cast: Cast, family: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = LosingPool(lambda: bool(world.sql(HANDED)))
    with monkeypatch.context() as patch:
        patch.setattr(hot, "hot_pool", lambda: pool)
        assert world.process("first").carry().status == "waiting"
    assert pool.has_lost
    carry_all(world)
    is_kept(world, cast, family)


@pytest.mark.promise("CR-12")
@pytest.mark.field("FL-81")
def test_a_delegation_whose_answer_is_lost_is_given_up_where_another_has_the_parent_since(
    world: World, cast: Cast, family: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child ended, and somebody took the parent, before the first one asked again."""
    first, second = world.process("first"), world.process("second")
    ((_, attempt),) = first.take()

    def go_on_elsewhere() -> bool:
        if not world.sql(HANDED):
            return False
        with monkeypatch.context() as patch:
            patch.setattr(hot, "hot_pool", real)
            take(second, "reader")
            second.go_on(the_child(family).id, 1)
            take(second, "triage")
        return True

    real = hot_pool
    pool = LosingPool(go_on_elsewhere)
    with monkeypatch.context() as patch:
        patch.setattr(hot, "hot_pool", lambda: pool)
        with pytest.raises(LostLease):
            first.go_on(family.id, attempt)
    family.refresh_from_db()
    assert (family.status, family.attempt) == ("running", 2)
    second.go_on(family.id, 2)
    is_kept(world, cast, family)


@pytest.mark.promise("CR-23")
@pytest.mark.field("FL-81")
@pytest.mark.parametrize("die", [die_before_effect, die_after_effect])
def test_a_killed_child_is_claimed_once_and_its_write_is_there_once(
    world: World, cast: Cast, family: Run, die: Callable[[str], None]
) -> None:
    world.process("first").carry()
    second = world.process("second")
    _, attempt = take(second, "reader")
    die("keyed")
    with pytest.raises(Killed):
        second.go_on(the_child(family).id, attempt)
    assert world.lapse(second) == [the_child(family).id]
    assert world.lapse(second) == []
    assert world.prove_dead(second) == []
    carry_all(world)
    is_kept(world, cast, family, losses=(0, 1))


@pytest.mark.promise("CR-23")
@pytest.mark.field("FL-81")
def test_parent_and_child_killed_in_one_process_are_each_taken_over_once(
    world: World, cast: Cast, family: Run, cut: Cut
) -> None:
    """The parent was woken by hand while its child was at it, and both die with the process that has them."""
    first = world.process("first")
    first.carry()
    world.sql("SELECT liyagent_wake(%s)", family.id)
    taken = dict(first.take())
    child = the_child(family)
    assert set(taken) == {family.id, child.id}
    die_after_effect("keyed")
    with pytest.raises(Killed):
        first.go_on(child.id, taken[child.id])
    cut("liyagent_wait_for_child")
    with pytest.raises(Killed):
        first.go_on(family.id, taken[family.id])
    assert set(world.prove_dead(first)) == {family.id, child.id}
    carry_all(world)
    is_kept(world, cast, family, losses=(1, 1))


@pytest.mark.promise("CR-23")
@pytest.mark.field("FL-81")
@pytest.mark.parametrize("is_after", [False, True], ids=["before it is kept", "after"])
def test_a_parent_killed_while_it_settles_hears_the_same_answer_again(
    world: World, cast: Cast, family: Run, cut: Cut, is_after: bool
) -> None:
    world.process("first").carry()
    world.process("second").carry()
    third = world.process("third")
    _, attempt = take(third, "triage")
    cut("liyagent_settle", is_after=is_after)
    with pytest.raises(Killed):
        third.go_on(family.id, attempt)
    assert world.prove_dead(third) == [family.id]
    carry_all(world)
    is_kept(world, cast, family, losses=(1, 0))


@pytest.mark.promise("CR-23")
@pytest.mark.field("FL-81")
@pytest.mark.parametrize("is_after", [False, True], ids=["before its end", "after it"])
def test_a_child_killed_at_its_end_wakes_its_parent_once(
    world: World, cast: Cast, family: Run, cut: Cut, is_after: bool
) -> None:
    world.process("first").carry()
    second = world.process("second")
    child, attempt = take(second, "reader")
    cut("liyagent_finish", is_after=is_after)
    with pytest.raises(Killed):
        second.go_on(child.id, attempt)
    assert world.prove_dead(second) == ([] if is_after else [child.id])
    carry_all(world)
    assert Run.objects.get(id=family.id).wakes == 1
    is_kept(world, cast, family, losses=(0, 0 if is_after else 1))


@pytest.mark.field("FL-81")
def test_a_child_that_ends_before_its_parent_sleeps_again_leaves_it_awake(
    world: World, cast: Cast, family: Run, cut: Cut
) -> None:
    """Ruling 39: the parent has looked and not found an end, and is just about to go on waiting."""
    world.process("first").carry()
    second, third = world.process("second"), world.process("third")
    child, attempt = take(second, "reader")
    world.sql("SELECT liyagent_wake(%s)", family.id)
    _, of_parent = take(third, "triage")

    def end() -> None:
        second.go_on(child.id, attempt)

    cut("liyagent_wait_for_child", act=end)
    third.go_on(family.id, of_parent)
    family.refresh_from_db()
    assert (family.status, the_child(family).status) == ("queued", "answered")
    carry_all(world)
    is_kept(world, cast, family)


@pytest.mark.promise("CR-23")
@pytest.mark.field("FL-81")
def test_work_whose_child_somebody_removed_is_told_as_unknown_and_not_begun_again(
    world: World, cast: Cast, family: Run
) -> None:
    """It may have written before it was removed; a second child would write again."""
    world.process("first").carry()
    world.sql("DELETE FROM runs_part WHERE run_id = %s", the_child(family).id)
    world.sql("DELETE FROM runs_run WHERE parent_id = %s", family.id)
    world.sql("SELECT liyagent_wake(%s)", family.id)
    carry_all(world)
    family.refresh_from_db()
    assert (family.status, Run.objects.count()) == ("answered", 1)
    assert world.call(family, 1).fate == "unknown"
    assert "was not sent again" in cast.told("triage")[0]


def test_a_parent_woken_for_nothing_sleeps_on_and_asks_no_model(
    world: World, cast: Cast, family: Run
) -> None:
    world.process("first").carry()
    _, asked = world.sql("SELECT liyagent_wake(%s)", family.id), len(cast.asked)
    second = world.process("second")
    taken = dict(second.take())
    assert second.go_on(family.id, taken[family.id]).status == "waiting"
    assert len(cast.asked) == asked
    second.go_on(the_child(family).id, 1)
    carry_all(world)
    is_kept(world, cast, family)


@pytest.mark.field("FL-81")
def test_without_an_identity_of_its_own_a_delegation_is_still_found_by_its_mark(
    world: World, cast: Cast
) -> None:
    """The model numbers its calls: the key is a fresh one, and stands on the mark."""
    step = hands("reader")
    named = step.calls[0].__class__(
        id="call_0", name="agents/reader", arguments_text="", args={"task": "x"}
    )
    cast.lists = {
        "triage": [step.__class__(text="", finish=step.finish, calls=(named,)), says("told")],
        "reader": works("reader"),
    }
    parent = world.start()
    carry_all(world)
    assert the_child(parent).loop.startswith("fresh-")
    is_kept(world, cast, parent)
