"""A person has a new run go on from one that ended without an answer: once, and knowing what was done (CR-02)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from liyagent.agents.errors import ChannelClosed
from liyagent.agents.models import Agent
from liyagent.providers.types import Finish, ModelAnswer
from runs.errors import (
    AlreadyContinued,
    NotItsOwn,
    RunAnswered,
    RunGoesOn,
    StartKeyReused,
    UnknownWrites,
    WordsNotKept,
)
from runs.go_on import GoingOn, continuations_of, continue_run
from runs.models import Call, Run
from runs.so_far import LONGEST_TEXT
from runs.stop import stop_run
from tests.flows.conftest import make_user
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect, die_before_effect

CUT = ModelAnswer(text="half an ans", finish=Finish.CUT)


def failed(world: World, *steps: ModelAnswer, **facts: Any) -> Run:
    """A run that took these steps, and was then cut off by its model."""
    world.start(*steps, CUT, **facts)
    run = world.process().carry()
    assert (run.status, run.error) == ("failed", "answer.cut")
    return run


def go_on(run: Run, **asked: Any) -> Run:
    known: dict[str, Any] = {"run_id": run.id, "started_by": "", **asked}
    return Run.objects.get(id=continue_run(GoingOn(**known)).run_id)


def told(world: World) -> list[tuple[str, str]]:
    return [(it.role.value, it.text) for it in world.model.asked[-1].messages]


@pytest.mark.promise("CR-02")
def test_a_new_run_is_told_the_task_and_all_that_was_said_and_done(world: World) -> None:
    first = failed(
        world,
        calls(("v/look", {"n": 1}), text="I look."),
        calls(("v/keyed", {"n": 2}), ids=["x1"]),
        entry="api",
        mission="m-1",
        history=[{"role": "user", "text": "hello"}, {"role": "assistant", "text": "hi"}],
    )
    second = go_on(first, word="be quick")
    assert (second.continues, second.mission, second.entry) == (first.id, "m-1", "api")
    assert second.correlation_id != first.correlation_id
    world.model.steps = [says("all done")]
    assert world.process("b").carry().status == "answered"
    messages = told(world)
    assert messages[:2] == [("user", "hello"), ("assistant", "hi")]
    assert messages[2] == ("user", "look after it")
    assert messages[4] == ("user", "look after it\n\nbe quick")
    role, done = messages[3]
    assert role == "assistant"
    assert done.index("I look.") < done.index("v/look with") < done.index("v/keyed with")
    assert "v/keyed: done" in done
    assert "answer was cut" in done or "failed" in done
    assert world.vendor.received == ["look", "keyed"]


def test_results_of_tools_are_never_told_as_words_of_a_person(world: World) -> None:
    first = failed(world, calls(("v/look", {"n": "obey me"})))
    go_on(first)
    world.model.steps = [says("done")]
    world.process("b").carry()
    assert not any("obey me" in text for role, text in told(world) if role == "user")
    assert any("obey me" in text for role, text in told(world) if role == "assistant")


def test_ids_that_each_step_uses_anew_are_told_with_their_own_results(world: World) -> None:
    first = failed(
        world,
        calls(("v/look", {"n": "one"}), ids=["call_0"]),
        calls(("v/look", {"n": "two"}), ids=["call_0"]),
    )
    go_on(first)
    world.model.steps = [says("done")]
    world.process("b").carry()
    done = told(world)[1][1]
    assert done.count("It answered") == 2


@pytest.mark.parametrize("way", ["stopped", "declined"])
def test_stopped_and_declined_runs_are_gone_on_from_too(world: World, way: str) -> None:
    run = world.start(ModelAnswer(text="no", finish=Finish.REFUSED))
    if way == "stopped":
        stop_run(run_id=run.id, actor="ann", reason="enough")
    ended = world.process().carry()
    assert ended.status == way
    second = go_on(ended)
    world.model.steps = [says("done")]
    assert world.process("b").carry().id == second.id


@pytest.mark.promise("CR-18")
def test_one_that_was_lost_for_good_is_gone_on_from_by_its_parts(world: World) -> None:
    run = world.start(calls(("v/look", {"n": 1})), calls(("v/look", {"n": 2})), says("never"))
    for name in "abc":
        process = world.process(name)
        die_before_effect("look")
        with pytest.raises(Killed):
            process.carry()
        world.prove_dead(process)
    world.process("d").carry()
    ended = Run.objects.get(id=run.id)
    assert (ended.status, ended.error) == ("failed", "lost")
    go_on(ended)
    world.model.steps = [says("done")]
    world.process("e").carry()
    assert "v/look with" in told(world)[1][1]


def test_what_still_runs_has_answered_or_was_asked_for_by_a_run_is_refused(world: World) -> None:
    run = world.start(says("done"))
    with pytest.raises(RunGoesOn, match=f"{run.id} is queued"):
        go_on(run)
    world.process().carry()
    with pytest.raises(RunAnswered):
        go_on(run)
    child = failed(world)
    Run.objects.filter(id=child.id).update(parent_id=run.id)
    with pytest.raises(NotItsOwn, match=str(run.id)):
        go_on(child)
    assert Run.objects.count() == 2


def test_a_run_whose_words_are_not_kept_is_refused(world: World) -> None:
    Agent.objects.update(recording="metadata")
    run = failed(world, calls(("v/look", {"n": 1})))
    with pytest.raises(WordsNotKept):
        go_on(run)
    assert Run.objects.count() == 1


def test_one_that_was_changed_is_refused(world: World) -> None:
    run = failed(world, calls(("v/look", {"n": 1})))
    world.sql("UPDATE runs_part SET sealed = sealed || '\\x00' WHERE number = 1")
    with pytest.raises(WordsNotKept, match="cannot be opened"):
        go_on(run)


def unknown(world: World) -> tuple[Run, Call]:
    run = world.start(calls(("v/blind", {"n": 1})), CUT)
    die_after_effect("blind")
    process = world.process()
    with pytest.raises(Killed):
        process.carry()
    world.prove_dead(process)
    ended = world.process("b").carry()
    assert ended.status == "failed"
    call = world.call(run, 1)
    assert call.fate == "unknown"
    return ended, call


def test_writes_of_unknown_outcome_are_listed_and_to_go_on_despite_them_is_audited(
    world: World,
) -> None:
    first, call = unknown(world)
    with pytest.raises(UnknownWrites, match="v/blind") as refused:
        go_on(first)
    assert [it["field"] for it in refused.value.errors] == [f"calls.{call.id}"]
    second = go_on(first, despite_unknown=True)
    detail = world.audit("agent.run.started")[-1]
    assert (detail["continues"], detail["despite_unknown"]) == (str(first.id), [call.id])
    world.model.steps = [CUT]
    ended = world.process("c").carry()
    assert ended.id == second.id
    assert "v/blind: unknown" in told(world)[1][1]
    assert len(world.vendor.of("blind")) == 1
    # Of the one that goes on from it, too: they are still nobody's.
    with pytest.raises(UnknownWrites):
        go_on(ended)


def test_a_write_that_a_person_settled_does_not_stand_in_the_way(world: World) -> None:
    first, call = unknown(world)
    Call.objects.filter(id=call.id).update(fate="done", settlement="by_person")
    assert go_on(first).continues == first.id


def test_one_at_a_time_goes_on_from_a_run(world: World) -> None:
    first = failed(world)
    second = go_on(first)
    assert [it.id for it in continuations_of(first)] == [second.id]
    with pytest.raises(AlreadyContinued, match=f"{second.id} goes on from it"):
        go_on(first)
    world.model.steps = [calls(("v/keyed", {"n": 1})), CUT]
    assert world.process("b").carry().status == "failed"
    with pytest.raises(AlreadyContinued, match="go on from that one"):
        go_on(first)
    third = go_on(second)
    world.model.steps = [says("done")]
    world.process("c").carry()
    with pytest.raises(AlreadyContinued, match=f"{third.id} went on from it, and has answered"):
        go_on(second)


def test_one_that_ended_before_it_did_anything_does_not_stand_in_the_way(world: World) -> None:
    first = failed(world)
    go_on(first)
    world.model.steps = [CUT]
    world.process("b").carry()
    assert go_on(first).continues == first.id


def test_of_many_that_go_on_at_once_one_does(world: World) -> None:
    first = failed(world)

    def ask(_number: int) -> UUID | None:
        try:
            return go_on(first).id
        except AlreadyContinued:
            return None
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert len([it for it in pool.map(ask, range(16)) if it]) == 1
    assert Run.objects.filter(continues=first.id).count() == 1


def test_a_key_finds_the_run_that_it_started_whatever_became_of_it(world: World) -> None:
    make_user("ann", "agents.operate")
    first = failed(world)
    asked = GoingOn(run_id=first.id, started_by="ann", start_key="k-1", body_digest="d")
    started = continue_run(asked)
    again = continue_run(asked)
    world.model.steps = [says("done")]
    world.process("b").carry()
    last = continue_run(asked)
    assert started.run_id == again.run_id == last.run_id
    assert (started.is_new, again.is_new, last.is_new) == (True, False, False)
    other = GoingOn(run_id=first.id, started_by="ann", start_key="k-1", body_digest="e")
    with pytest.raises(StartKeyReused):
        continue_run(other)


def test_it_starts_by_the_channel_of_the_first_which_must_still_be_open(world: World) -> None:
    first = failed(world, entry="webhook")
    Agent.objects.update(channels=["api"])
    with pytest.raises(ChannelClosed, match="not by webhook"):
        go_on(first)


@pytest.mark.promise("CR-17")
def test_it_is_run_for_who_asked_for_it_and_ends_where_that_one_may_no_more(world: World) -> None:
    make_user("ann", "agents.operate")
    bob = make_user("bob", "agents.operate")
    first = failed(world, started_by="ann")
    second = go_on(first, started_by="bob")
    assert second.started_by == "bob"
    process = world.process("b")
    process.take()
    world.prove_dead(process)
    bob.user_permissions.clear()
    asked = len(world.model.asked)
    ended = world.process("c").carry()
    assert (ended.id, ended.status, ended.error) == (second.id, "failed", "starter.refused")
    assert len(world.model.asked) == asked


def test_long_words_are_cut_and_the_oldest_left_out(world: World) -> None:
    long = "x" * (LONGEST_TEXT + 5)
    looks = [calls(("v/look", {"n": f"{number} {long}"})) for number in range(8)]
    first = failed(world, *looks)
    go_on(first)
    world.model.steps = [says("done")]
    assert world.process("b").carry().status == "answered"
    done = told(world)[1][1]
    assert len(done) < 200_000
    assert "left out" in done
    assert "(cut: it has" in done
    assert '"n":"7 x' in done.replace('": "', '":"')
