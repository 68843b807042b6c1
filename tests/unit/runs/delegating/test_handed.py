"""A delegation is a thread: the task, what came back, who read which; each once, whoever dies (HO-03, HO-04)."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from handoffs.models import Reading, Snapshot, Version
from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.providers.types import Finish
from runs import delegate as delegating
from runs import hot
from runs.checkpoint import seal_begun
from runs.marks import SealedMark
from runs.models import Run
from runs.stop import stop_run
from tests.unit.approvals.conftest import Cut
from tests.unit.approvals.deciding import approve, let_decide
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_lasting_threads import LosingPool
from tests.unit.runs.carrying.vendor import Killed, die_after_effect
from tests.unit.runs.delegating.conftest import (
    Cast,
    carry_all,
    hands,
    take,
    the_child,
    works,
)
from tests.unit.runs.delegating.handing import bodies, is_handed_once, shown, sides, threads, told

ANSWERED = {"status": "answered", "answer": "all done"}
FIRST, BACK = [("written", 1), ("read", 2)], [("read", 1)]


@pytest.fixture
def family(world: World, cast: Cast) -> Run:
    """A parent that hands work to one that writes once, and answers."""
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": works("reader")}
    return world.start()


def is_kept(parent: Run, *, task: Any = "read it", back: dict[str, Any] = ANSWERED) -> None:
    child = the_child(parent)
    thread = is_handed_once(parent, child, task=task, back=back)
    assert threads() == [thread]
    assert (told(parent), told(child)) == (FIRST, BACK)
    assert Version.objects.count() == 2


@pytest.mark.promise("HO-03", "HO-04", "EV-01")
def test_a_delegation_is_a_thread_of_the_task_and_of_what_came_back(
    world: World, cast: Cast, family: Run
) -> None:
    carry_all(world)
    is_kept(family)
    (thread,) = threads()
    for it in Snapshot.objects.all():
        text = (
            f'{{"body":{it.body},"from":"{it.sender}","kind":"delegation","to":"{it.recipient}"}}'
        )
        assert hashlib.sha256(text.encode()).hexdigest() == it.digest
    runs = [it.version.run_id for it in shown(thread).versions]
    assert runs == [family.id, the_child(family).id]
    assert {it.mission for it in Version.objects.all()} == {family.mission}


@pytest.mark.promise("HO-03")
@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", ["liyagent_delegate", "liyagent_settle", "liyagent_hand"])
def test_whoever_dies_at_a_hand_off_it_is_kept_once(
    world: World, family: Run, cut: Cut, at: str, is_after: bool
) -> None:
    """The parent as it hands down or hears, the child as it reads."""
    for number in range(4):
        process = world.process(f"p{number}")
        cut(at, is_after=is_after)
        try:
            process.carry()
        except Killed:
            break
    else:
        pytest.fail("nobody died")
    world.prove_dead(process)
    carry_all(world)
    is_kept(family)


@pytest.mark.promise("HO-03")
@pytest.mark.field("FL-96")
@pytest.mark.parametrize("number", [1, 2])
def test_a_statement_that_is_asked_again_after_a_lost_answer_hands_over_once(
    world: World, cast: Cast, family: Run, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    there = f"SELECT 1 FROM handoffs_version WHERE number = {number}"
    pool = LosingPool(lambda: bool(world.sql(there)))
    monkeypatch.setattr(hot, "hot_pool", lambda: pool)
    carry_all(world)
    assert pool.has_lost
    is_kept(family)


@pytest.mark.promise("HO-03")
def test_a_parent_and_a_child_that_are_taken_over_hand_over_once(
    world: World, cast: Cast, family: Run, cut: Cut
) -> None:
    world.process("first").carry()
    second = world.process("second")
    child, attempt = take(second, "reader")
    die_after_effect("keyed")
    with pytest.raises(Killed):
        second.go_on(child.id, attempt)
    world.lapse(second)
    world.process("third").carry()
    fourth = world.process("fourth")
    cut("liyagent_settle", is_after=True)
    with pytest.raises(Killed):
        fourth.carry()
    world.prove_dead(fourth)
    carry_all(world)
    is_kept(family)


@pytest.mark.promise("HO-03")
@pytest.mark.parametrize("ends", ["failed", "stopped", "declined"])
def test_what_a_child_ended_as_comes_back(world: World, cast: Cast, family: Run, ends: str) -> None:
    if ends == "failed":
        cast.lists["reader"] = [says("")]
    elif ends == "declined":
        cast.lists["reader"] = [replace(says("no"), finish=Finish.REFUSED)]
    world.process("first").carry()
    if ends == "stopped":
        stop_run(run_id=the_child(family).id, actor="olga", reason="enough")
    carry_all(world)
    child = the_child(family)
    assert (Run.objects.get(id=family.id).status, child.status) == ("answered", ends)
    (thread,) = threads()
    task, back = bodies(thread)
    assert (task, back["status"]) == ({"task": "read it"}, ends)
    assert f"ended as {ends}" in back["error"]
    assert told(family) == FIRST
    assert told(child) == BACK


@pytest.mark.promise("HO-03")
def test_of_a_child_that_somebody_removed_nothing_is_known(
    world: World, cast: Cast, family: Run
) -> None:
    world.process("first").carry()
    world.sql("DELETE FROM runs_part WHERE run_id = %s", the_child(family).id)
    world.sql("DELETE FROM runs_run WHERE parent_id = %s", family.id)
    world.sql("SELECT liyagent_wake(%s)", family.id)
    carry_all(world)
    (thread,) = threads()
    assert bodies(thread)[1]["status"] == "unknown"


@pytest.mark.promise("HO-03", "EV-06")
@pytest.mark.parametrize("metadata", ["triage", "reader"])
def test_words_are_kept_only_where_both_are_recorded_in_full(
    world: World, cast: Cast, metadata: str
) -> None:
    Agent.objects.filter(key=metadata).update(recording="metadata")
    cast.lists = {
        "triage": [hands("reader", "the password is Rosebud"), says("told")],
        "reader": [says("Rosebud it is")],
    }
    parent = world.start()
    carry_all(world)
    stands = {name: hashlib.sha256(f'"{text}"'.encode()).hexdigest()
              for name, text in (("task", "the password is Rosebud"), ("answer", "Rosebud it is"))}  # fmt: skip
    is_kept(
        parent,
        task={"sha256": stands["task"], "bytes": 25},
        back={"status": "answered", "answer": {"sha256": stands["answer"], "bytes": 15}},
    )
    assert not [it for it in Snapshot.objects.all() if "Rosebud" in it.body]


@pytest.mark.promise("HO-03")
def test_what_guardrails_masked_is_handed_over_masked(world: World, cast: Cast) -> None:
    check = {"kind": "pattern", "action": "mask", "name": "host", "pattern": "web-[0-9]+"}
    Agent.objects.filter(key="reader").update(guardrails={"input": [check]})
    cast.lists = {
        "triage": [hands("reader", "look at web-17"), says("x")],
        "reader": works("reader"),
    }
    parent = world.start()
    carry_all(world)
    is_kept(parent, task="look at [host]")
    assert not [it for it in Snapshot.objects.all() if "web-17" in it.body]


@pytest.mark.promise("HO-03")
def test_a_task_that_a_guardrail_refuses_is_kept_nowhere_by_its_hand_off(
    world: World, cast: Cast
) -> None:
    check = {"kind": "pattern", "action": "refuse", "name": "host", "pattern": "web-[0-9]+"}
    Agent.objects.filter(key="reader").update(guardrails={"input": [check]})
    cast.lists = {
        "triage": [hands("reader", "look at web-17"), says("x")],
        "reader": works("reader"),
    }
    parent = world.start()
    carry_all(world)
    child = the_child(parent)
    assert child.error == "guardrail.input"
    (thread,) = threads()
    task, back = bodies(thread)
    assert task["task"]["bytes"] == len('"look at web-17"')
    assert back["status"] == "failed"
    assert not [it for it in Snapshot.objects.all() if "web-17" in it.body]
    assert told(child) == BACK


@pytest.mark.promise("HO-03", "HO-04")
def test_a_chain_of_two_delegations_is_two_threads(world: World, cast: Cast) -> None:
    cast.lists = {
        "triage": [hands("reader", "all of it"), says("told")],
        "reader": [hands("fixer", "a part of it"), says("both done")],
        "fixer": works("fixer", text="my part"),
    }
    top = world.start()
    carry_all(world)
    middle = the_child(top)
    below = the_child(middle, "fixer")
    outer = is_handed_once(
        top, middle, task="all of it", back={"status": "answered", "answer": "both done"}
    )
    inner = is_handed_once(
        middle, below, task="a part of it", back={"status": "answered", "answer": "my part"}
    )
    assert threads() == [outer, inner]
    assert told(top) == FIRST
    assert told(middle) == [("read", 1), ("written", 1), ("read", 2)]
    assert told(below) == BACK


@pytest.mark.promise("HO-03")
def test_the_same_work_twice_is_two_threads_of_one_content(world: World, cast: Cast) -> None:
    asked = (("agents/reader", {"task": "one"}), ("agents/reader", {"task": "one"}))
    cast.lists = {"triage": [calls(*asked), says("done")], "reader": [says("read")]}
    world.start()
    carry_all(world)
    first, second = threads()
    assert bodies(first) == bodies(second)
    assert (Version.objects.count(), Snapshot.objects.count()) == (4, 2)


@pytest.mark.promise("HO-03")
@pytest.mark.parametrize("is_after", [None, False, True], ids=["nobody dies", "before", "after"])
@pytest.mark.parametrize("may_wait", [True, False], ids=["waits", "goes on"])
def test_work_that_is_held_is_handed_over_once_it_is_approved(
    world: World, cast: Cast, cut: Cut, may_wait: bool, is_after: bool | None
) -> None:
    Agent.objects.filter(key="triage").update(write_posture="hold", may_wait=may_wait)
    Agent.objects.filter(key="reader").update(tool_patterns=["v/look"])
    let_decide("olga")
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": [says("all done")]}
    world.start()
    carry_all(world)
    assert not threads()
    approve(Approval.objects.get())
    if is_after is not None:
        second = world.process("second")
        cut("liyagent_delegate", is_after=is_after)
        with pytest.raises(Killed):
            second.carry()
        world.prove_dead(second)
    carry_all(world, name="b")
    child = Run.objects.get(agent_key="reader")
    assert child.parent_id is not None
    is_handed_once(Run.objects.get(id=child.parent_id), child, task="read it", back=ANSWERED)
    assert len(threads()) == 1


def test_work_that_is_not_handed_down_after_all_leaves_no_word_of_it(
    world: World, cast: Cast, family: Run, cut: Cut
) -> None:
    """A Stop comes between: the statement writes nothing, and what was to tell of it is taken back, without a hole."""
    stop = "UPDATE runs_run SET stop_requested = true, stopped_by = 'olga' WHERE id = %s"
    cut("liyagent_delegate", act=lambda: world.sql(stop, family.id) and None)
    (parent,) = carry_all(world)
    assert parent.status == "stopped"
    assert (threads(), told(family)) == ([], [])
    marks = [it.tag for it in world.events(family)]
    ordinals = [int.from_bytes(bytes(it)[8:12], "big") for it in marks]
    assert ordinals == list(range(len(ordinals)))


@pytest.mark.promise("HO-03")
def test_what_a_child_read_is_by_the_digest_of_its_own_sealed_task(
    world: World, cast: Cast, family: Run
) -> None:
    """Whoever changed what was handed over after it was sealed is shown by who read it."""
    world.process("first").carry()
    world.sql("ALTER TABLE handoffs_version DISABLE TRIGGER ALL")
    world.sql("ALTER TABLE handoffs_snapshot DISABLE TRIGGER ALL")
    world.sql('UPDATE handoffs_snapshot SET body = \'{"task":"delete it"}\'')
    carry_all(world)
    reading = Reading.objects.get(number=1)
    assert reading.digest == Version.objects.get(number=1).snapshot_id
    (thread,) = threads()
    with pytest.raises(AssertionError):
        sides(thread)


def test_work_that_the_release_before_handed_down_comes_back_without_a_hand_off(
    world: World, cast: Cast, family: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its mark and its child's first part name none: nothing is made up afterwards, and nothing fails."""
    ask = hot.ask

    def without_last(sql: str, values: Any, **known: Any) -> Any:
        if "liyagent_delegate(" in sql:
            sql, values = f"{sql.removesuffix(', %s)')})", values[:-1]
        return ask(sql, values, **known)

    def without_name(run: Run, part: dict[str, Any]) -> Any:
        return seal_begun(run, {name: part[name] for name in part if name != "handoff"})

    with monkeypatch.context() as before:
        before.setattr(delegating, "tell_written", lambda *_: None)
        before.setattr(delegating, "SealedMark", lambda handoff, **known: SealedMark(**known))
        before.setattr(delegating, "seal_begun", without_name)
        before.setattr(hot, "ask", without_last)
        world.process("before").carry()
    parent, child = carry_all(world)
    assert (parent.status, child.status) == ("answered", "answered")
    assert (threads(), told(parent), told(child)) == ([], [], [])
    assert not Reading.objects.exists()
