"""A message to a remote agent is a thread: what it was asked, in the commit of its mark, and what came back (HO-03, HO-04)."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from handoffs.models import Snapshot, Version
from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.gateway.models import Tool
from runs import hot
from runs.models import Call, Run
from tests.fakes.remote_agent import RemoteAgent
from tests.unit.approvals.conftest import cut
from tests.unit.approvals.deciding import CutPool, approve, let_decide
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_lasting_threads import LosingPool
from tests.unit.runs.carrying.test_remote_agents import agent, asks
from tests.unit.runs.carrying.vendor import Killed
from tests.unit.runs.delegating.handing import audited, bodies, readers, sides, threads, told

__all__ = ["agent", "cut"]

WROTE_AND_READ = [("written", 1), ("read", 2)]
BOTH_SIDES = [("agent:triage", "remote:disks"), ("remote:disks", "agent:triage")]


def is_kept(run: Run, *, task: Any = "how full?", status: str = "done") -> Any:
    """Both versions are there once, told, audited and read; what came back."""
    (thread,) = threads()
    asked, back = bodies(thread)
    assert (asked, back["status"]) == ({"task": task}, status)
    assert sides(thread) == BOTH_SIDES
    assert readers(thread) == [(2, "agent:triage", run.id)]
    assert audited(thread) == [(1, "agent:triage"), (2, "remote:disks")]
    assert told(run) == WROTE_AND_READ
    return back.get("answer", back.get("error"))


@pytest.mark.promise("HO-03", "HO-04")
def test_what_a_remote_agent_is_asked_and_answers_is_a_thread(
    world: World, agent: RemoteAgent
) -> None:
    seen: list[int] = []
    agent.on_ask = lambda _text: seen.append(world.sql("SELECT 1 FROM handoffs_version") != [])
    run = world.start(calls(asks()), says("full"))
    assert world.process().carry().status == "answered"
    assert seen == [True], "it is there before it is asked"
    assert "done: how full?" in str(is_kept(run))


@pytest.mark.promise("HO-03")
def test_a_later_talk_says_what_it_goes_on_from(world: World, agent: RemoteAgent) -> None:
    run = world.start(calls(asks(context="c-1")), says("full"))
    assert world.process().carry().status == "answered"
    (thread,) = threads()
    assert bodies(thread)[0] == {"goes_on": {"context": "c-1"}, "task": "how full?"}
    assert told(run) == WROTE_AND_READ


@pytest.mark.promise("HO-03", "EV-06")
def test_of_a_run_that_keeps_no_words_digests_are_kept(world: World, agent: RemoteAgent) -> None:
    Agent.objects.update(recording="metadata")
    run = world.start(calls(asks()), says("full"))
    assert world.process().carry().status == "answered"
    stands = {"sha256": hashlib.sha256(b'"how full?"').hexdigest(), "bytes": 11}
    assert set(is_kept(run, task=stands)) == {"sha256", "bytes"}
    assert not [it for it in Snapshot.objects.all() if "full?" in it.body]


@pytest.mark.promise("HO-03")
@pytest.mark.parametrize("window", [0, 86_400], ids=["looked-for", "sent-again"])
@pytest.mark.parametrize(
    "place",
    [("liyagent_mark", True), ("liyagent_settle", False), ("liyagent_settle", True)],
)
def test_whoever_dies_on_the_way_it_is_handed_over_once(
    world: World, agent: RemoteAgent, cut: Any, place: tuple[str, bool], window: int
) -> None:
    if window:
        Tool.objects.filter(name="ask").update(key_place="message_id", key_window_seconds=window)
    run = world.start(calls(asks()), says("full"))
    first = world.process("first")
    cut(place[0], is_after=place[1])
    with pytest.raises(Killed):
        first.carry()
    assert world.prove_dead(first) == [run.id]
    while Run.objects.get(id=run.id).status != "answered":
        world.sql("UPDATE runs_run SET not_before = NULL, settle_after = NULL")
        world.process("second").carry()
    # Not sent before the death and not found, or found by nobody: then it is unknown, and told so.
    is_kept(run, status=world.call(run, 1).fate)


@pytest.mark.promise("HO-03")
@pytest.mark.field("FL-96")
@pytest.mark.parametrize("number", [1, 2])
def test_a_statement_that_is_asked_again_after_a_lost_answer_hands_over_once(
    world: World, agent: RemoteAgent, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    there = f"SELECT 1 FROM handoffs_version WHERE number = {number}"
    pool = LosingPool(lambda: bool(world.sql(there)))
    monkeypatch.setattr(hot, "hot_pool", lambda: pool)
    run = world.start(calls(asks()), says("full"))
    assert world.process().carry().status == "answered"
    assert pool.has_lost
    is_kept(run)


@pytest.mark.promise("HO-03")
def test_a_mark_that_is_sent_again_hands_over_once(
    world: World, agent: RemoteAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mark passed its deadline before the message could leave, but the last."""
    late = [True, True]
    mark = hot.write_mark

    def comes_late(*given: Any, **known: Any) -> hot.Marked:
        marked = mark(*given, **known)
        gone = {"deadline": 0.0} if late and late.pop() else {}
        return hot.Marked(**{name: getattr(marked, name) for name in marked.__slots__} | gone)

    monkeypatch.setattr(hot, "write_mark", comes_late)
    run = world.start(calls(asks()), says("full"))
    assert world.process().carry().status == "answered"
    assert (len(agent.asked), late) == (1, [])
    is_kept(run)


@pytest.mark.promise("HO-03")
def test_what_failed_comes_back_as_that(world: World, agent: RemoteAgent) -> None:
    run = world.start(calls(asks("fail")), says("sorry"))
    assert world.process().carry().status == "answered"
    assert "the disk is gone" in is_kept(run, task="fail", status="failed")


@pytest.mark.promise("HO-03")
@pytest.mark.parametrize("may_wait", [True, False], ids=["waits", "goes on"])
def test_a_message_that_is_held_is_handed_over_once_it_is_approved(
    world: World, agent: RemoteAgent, may_wait: bool
) -> None:
    Agent.objects.update(write_posture="hold", may_wait=may_wait)
    let_decide("olga")
    run = world.start(calls(asks()), says("full"))
    world.process().carry()
    assert not threads()
    approve(Approval.objects.get())
    carried = world.process("b").carry()
    assert carried.status == "answered"
    assert (carried.id == run.id) is may_wait
    is_kept(carried)


@pytest.mark.promise("HO-03")
def test_a_tool_that_only_reads_is_handed_over_all_the_same(
    world: World, agent: RemoteAgent
) -> None:
    """An operator's word that asking it changes nothing: such a call has no mark."""
    Tool.objects.filter(name="ask").update(effect="read")
    run = world.start(calls(asks()), says("full"))
    assert world.process().carry().status == "answered"
    assert not Call.objects.exists()
    assert "done: how full?" in str(is_kept(run))


@pytest.mark.promise("HO-04")
def test_a_run_that_ends_before_it_heard_back_tells_what_it_handed_over(
    world: World, agent: RemoteAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = world.start(calls(asks()), says("full"))
    first = world.process("first")
    pool = CutPool("liyagent_settle", is_after=False, act=_die)
    monkeypatch.setattr(hot, "hot_pool", lambda: pool)
    with pytest.raises(Killed):
        first.carry()
    world.prove_dead(first)
    world.sql("UPDATE agents_agent SET is_contained = true")
    world.process("second").carry()
    assert Run.objects.get(id=run.id).status == "failed"
    assert told(run) == [("written", 1)]
    (thread,) = threads()
    assert bodies(thread) == [{"task": "how full?"}]
    assert Version.objects.get().number == 1


@pytest.mark.promise("HO-03")
def test_asked_twice_in_a_run_it_is_two_threads(world: World, agent: RemoteAgent) -> None:
    run = world.start(calls(asks()), calls(asks("and disk 5?")), says("full"))
    assert world.process().carry().status == "answered"
    assert [bodies(it)[0]["task"] for it in threads()] == ["how full?", "and disk 5?"]
    assert told(run) == WROTE_AND_READ * 2


def _die() -> None:
    raise Killed
