"""However a child ends, its parent is told and goes on; while it cannot end, its parent sleeps."""

from __future__ import annotations

import pytest

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.core.seal import KeyMissing
from liyagent.providers.types import Finish, ModelAnswer
from runs import delegate
from runs.models import Run
from runs.stop import stop_run
from tests.unit.approvals.deciding import approve, let_decide, reject
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_before_effect
from tests.unit.runs.delegating.conftest import (
    Cast,
    all_ended,
    carry_all,
    hands,
    take,
    the_child,
    works,
)


@pytest.fixture
def family(world: World, cast: Cast) -> Run:
    """A parent that hands work to one that writes once, and answers whatever it is told."""
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": works("reader")}
    return world.start()


def told(cast: Cast) -> str:
    """What the parent's model was told of its delegation."""
    (said,) = cast.told("triage")
    return said


@pytest.mark.promise("CR-18")
@pytest.mark.field("FL-81")
def test_a_child_that_ends_its_processes_fails_at_its_third_loss_and_its_parent_goes_on(
    world: World, cast: Cast, family: Run
) -> None:
    world.process("first").carry()
    for name in ("second", "third", "fourth"):
        process = world.process(name)
        child, attempt = take(process, "reader")
        die_before_effect("keyed")
        with pytest.raises(Killed):
            process.go_on(child.id, attempt)
        world.prove_dead(process)
    parent, child = carry_all(world)
    assert (parent.status, child.status, child.losses, child.error) == (
        "answered", "failed", 3, "lost",
    )  # fmt: skip
    assert "reader ended as failed: lost 3 times, more than 2" in told(cast)
    assert str(child.id) in told(cast)
    assert (parent.losses, world.call(parent, 1).fate) == (0, "failed")
    assert all_ended()


@pytest.mark.promise("CR-16")
def test_a_child_whose_checkpoint_does_not_verify_is_ended_unopened_and_its_parent_is_told(
    world: World, cast: Cast, family: Run
) -> None:
    world.process("first").carry()
    world.sql("UPDATE runs_run SET started_by = 'olga' WHERE id = %s", the_child(family).id)
    parent, child = carry_all(world)
    assert (parent.status, child.status, child.error) == ("answered", "failed", "checkpoint.broken")
    assert "its checkpoint does not verify" in told(cast)
    assert world.vendor.received == []


def test_a_child_that_a_person_stops_is_an_error_result_with_who_and_why(
    world: World, cast: Cast, family: Run
) -> None:
    world.process("first").carry()
    stop_run(run_id=the_child(family).id, actor="olga", reason="wrong host")
    parent, child = carry_all(world)
    assert (parent.status, child.status) == ("answered", "stopped")
    assert "reader ended as stopped: stopped by olga: wrong host" in told(cast)


def test_a_child_whose_model_declines_is_an_error_result(
    world: World, cast: Cast, family: Run
) -> None:
    cast.lists["reader"] = [ModelAnswer(text="I will not", finish=Finish.REFUSED)]
    parent, child = carry_all(world)
    assert (parent.status, child.status) == ("answered", "declined")
    assert "reader ended as declined: the model refused" in told(cast)


def test_an_interrupted_child_is_an_error_result(world: World, cast: Cast, family: Run) -> None:
    world.process("first").carry()
    world.sql(
        "UPDATE runs_run SET status = 'interrupted', ended_at = now(), reason = 'its process died'"
        " WHERE id = %s",
        the_child(family).id,
    )
    world.sql("SELECT liyagent_wake(%s)", family.id)
    parent, _ = carry_all(world)
    assert parent.status == "answered"
    assert "reader ended as interrupted: its process died" in told(cast)


def test_a_child_that_nobody_has_the_key_for_keeps_its_parent_asleep_and_both_go_on_once_it_is_there(
    world: World, cast: Cast, family: Run
) -> None:
    world.process("first").carry()
    child = the_child(family)
    world.sql("UPDATE runs_run SET status = 'paused' WHERE id = %s", child.id)
    world.sql("SELECT liyagent_wake(%s)", family.id)
    assert world.process("second").carry().status == "waiting"
    assert world.process("third").take() == []
    world.sql("UPDATE runs_run SET status = 'queued' WHERE id = %s", child.id)
    parent, child = carry_all(world)
    assert (parent.status, child.status) == ("answered", "answered")
    assert told(cast) == "all done"


def test_an_answer_whose_key_is_elsewhere_is_left_to_whoever_has_it_and_is_no_loss(
    world: World, cast: Cast, family: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.process("first").carry()
    world.process("second").carry()

    def without_key(run: Run) -> None:
        raise KeyMissing(key_id=run.key_id)

    third = world.process("third")
    _, attempt = take(third, "triage")
    with monkeypatch.context() as patch:
        patch.setattr(delegate, "sealer_of", without_key)
        given_back = third.go_on(family.id, attempt)
    assert (given_back.status, given_back.losses) == ("queued", 0)
    assert given_back.not_before is not None
    assert world.process("fourth").take() == []
    world.sql("UPDATE runs_run SET not_before = liyagent_now() WHERE id = %s", family.id)
    parent, _ = carry_all(world)
    assert parent.status == "answered"
    assert told(cast) == "all done"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE transcripts_transcript SET sealed = sealed || 'x'::bytea", "does not verify"),
        ("DELETE FROM transcripts_transcript", "no longer kept"),
    ],
)
def test_an_answer_that_cannot_be_opened_is_an_error_result_and_no_loss(
    world: World, cast: Cast, family: Run, change: str, said: str
) -> None:
    world.process("first").carry()
    world.process("second").carry()
    world.sql(change)
    parent, child = carry_all(world)
    assert (parent.status, parent.losses) == ("answered", 0)
    assert "its answer cannot be told" in told(cast)
    assert str(child.id) in told(cast)


@pytest.mark.promise("CR-21")
@pytest.mark.parametrize("is_approved", [True, False], ids=["approved", "rejected"])
def test_a_child_that_waits_for_a_person_keeps_its_parent_asleep_until_it_is_decided(
    world: World, cast: Cast, family: Run, is_approved: bool
) -> None:
    Agent.objects.filter(key="reader").update(write_posture="hold", may_wait=True)
    let_decide("olga")
    runs = carry_all(world)
    assert [it.status for it in runs] == ["waiting", "waiting"]
    assert world.vendor.received == []
    (approve if is_approved else reject)(Approval.objects.get())
    runs = carry_all(world, name="b")
    assert [it.status for it in runs] == ["answered", "answered"]
    assert len(world.vendor.of("keyed")) == int(is_approved)
    assert told(cast) == "all done"
    assert all_ended()


def test_a_child_that_may_not_wait_goes_on_and_what_is_approved_later_is_made_with_the_rights_of_all(
    world: World, cast: Cast, family: Run
) -> None:
    """The run that makes it is the child's, and bound by those above the child as the child was."""
    Agent.objects.filter(key="reader").update(write_posture="hold", may_wait=False)
    let_decide("olga")
    runs = carry_all(world)
    assert [it.status for it in runs] == ["answered", "answered"]
    Agent.objects.filter(key="triage").update(write_posture="refuse")
    approve(Approval.objects.get())
    *_, made = carry_all(world, name="b")
    assert (made.parent_id, made.status, made.error) == (
        the_child(family).id, "failed", "approved.call",
    )  # fmt: skip
    assert "may read but not write" in made.reason
    assert world.vendor.received == []


def test_a_parent_that_is_stopped_hands_nothing_down_any_more(world: World, cast: Cast) -> None:
    cast.lists = {
        "triage": [calls(("v/look", {}), ("agents/reader", {"task": "x"})), says("never")],
        "reader": works("reader"),
    }
    parent = world.start()

    def stop(tool: str) -> None:
        stop_run(run_id=parent.id, actor="olga", reason="enough")

    world.vendor.before_effect = stop
    (ended,) = carry_all(world)
    assert (ended.status, ended.reason) == ("stopped", "stopped by olga: enough")
    assert Run.objects.count() == 1
    assert not world.sql("SELECT 1 FROM runs_call")


def test_a_stopped_family_ends_from_below_each_with_who_and_why(
    world: World, cast: Cast, family: Run
) -> None:
    """The parent is woken by the Stop while its child is at it, and sleeps until that has ended."""
    world.process("first").carry()
    second, third = world.process("second"), world.process("third")
    child, attempt = take(second, "reader")

    def stop(tool: str) -> None:
        stop_run(run_id=family.id, actor="olga", reason="enough")
        _, of_parent = take(third, "triage")
        assert third.go_on(family.id, of_parent).status == "waiting"

    world.vendor.before_effect = stop
    second.go_on(child.id, attempt)
    parent, child = carry_all(world)
    assert [(it.status, it.reason) for it in (parent, child)] == [
        ("stopped", "stopped by olga: enough"),
        ("stopped", "stopped by olga: enough"),
    ]
    assert child.ended_at is not None
    assert parent.ended_at is not None
    assert child.ended_at <= parent.ended_at
    stops = world.audit("agent.run.stop_requested")
    assert stops == [
        {"reason": "enough"},
        {"reason": "enough", "with": str(parent.id)},
    ]


def test_a_stop_reaches_grandchildren(world: World, cast: Cast) -> None:
    cast.lists = {
        "triage": [hands("reader"), says("never")],
        "reader": [hands("fixer"), says("never")],
        "fixer": works("fixer"),
    }
    parent = world.start()
    for name in ("first", "second"):
        world.process(name).carry()
    stop_run(run_id=parent.id, actor="olga", reason="enough")
    runs = carry_all(world)
    assert [it.status for it in runs] == ["stopped"] * 3
    assert world.vendor.received == []


@pytest.mark.promise("CR-18")
def test_a_parent_that_fails_while_its_child_is_at_it_stops_the_child_and_leaves_nothing_unknown(
    world: World, cast: Cast, family: Run
) -> None:
    world.process("first").carry()
    world.sql("UPDATE runs_run SET losses = 3 WHERE id = %s", family.id)
    world.sql("SELECT liyagent_wake(%s)", family.id)
    second = world.process("second")
    taken = dict(second.take())
    assert second.go_on(family.id, taken[family.id]).status == "failed"
    child = second.go_on(the_child(family).id, taken[the_child(family).id])
    assert (child.status, world.vendor.received) == ("stopped", [])
    assert f"the end of run {family.id}" in child.reason
    call = world.call(family, 1)
    assert (call.fate, call.settlement, call.late_look_at) == ("failed", "run_ended", None)
    assert all_ended()
