"""Each kind of call is answered from the record as it came out then, and reaches nobody (RP-03, RP-04)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.gateway.local import ToolFailed
from liyagent.gateway.models import Tool, ToolServer
from liyagent.providers.types import Finish, ModelAnswer, ToolCall
from liyagent.replays.diff import compare
from liyagent.replays.made import How, ReplayedRun
from liyagent.replays.recorded import Recording
from liyagent.replays.recording import load_recording
from runs.models import Run
from tests.fakes.model_server import Turn
from tests.fakes.model_server import call as wire_call
from tests.unit.approvals.deciding import HOLD, HOLD_AND_GO_ON, approve, let_decide, reject
from tests.unit.events.scenes import killed_and_resumed, unknown_and_settled_by_a_person
from tests.unit.replays.conftest import Replays, asks
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect
from tests.unit.runs.delegating.conftest import Cast, carry_all, cast, hands

__all__ = ["cast"]

DONE = Turn(text="done")
MASK = (
    "INSERT INTO gateway_datapolicy (name, kind, regex, path, tools, action, is_enabled, created_by)"
    " VALUES ('mail', 'email', '', '*', '*', 'mask', true, '')"
)
ALLOW = "UPDATE agents_agent SET write_posture = 'allow'"


def recording_of(run: Run) -> Recording:
    found = load_recording(Run.objects.get(id=run.id))
    assert isinstance(found, Recording), found
    return found


def told(replayed: ReplayedRun) -> list[tuple[str, str, str]]:
    return [(it.name, it.how.value, it.fate) for it in replayed.calls]


def told_then(world: World) -> list[str]:
    """What the model of the run was told of its calls."""
    return world.model.results()


def results(replays: Replays) -> list[str]:
    """What the model of the replay was told of its calls; its endpoint is told of errors so."""
    return [it.removeprefix("Error: ") for it in replays.results()]


@pytest.mark.promise("RP-03")
@pytest.mark.field("FL-90")
def test_a_failed_call_is_answered_with_the_same_error(replays: Replays) -> None:
    def fail(_tool: str) -> None:
        raise ToolFailed("the disk is full")

    replays.world.vendor.before_effect = fail
    recording = replays.recorded(calls(("v/keyed", {"n": 1})), says("done"))
    found = replays.replay(recording, asks(("v/keyed", {"n": 1})), DONE)
    assert told(found) == [("v/keyed", "exact", "failed")]
    assert results(replays) == told_then(replays.world)
    assert "the disk is full" in replays.results()[0]
    assert compare(recording, found).verdict == "same"


@pytest.mark.promise("RP-04")
@pytest.mark.field("FL-90")
@pytest.mark.parametrize("since", ["", ALLOW])
def test_a_call_that_was_held_and_not_waited_for_is_answered_as_held_and_files_nothing(
    replays: Replays, since: str
) -> None:
    replays.world.sql(HOLD_AND_GO_ON)
    recording = replays.recorded(calls(("v/blind", {"n": 1})), says("done"))
    if since:
        replays.world.sql(since)
    found = replays.replay(recording, asks(("v/blind", {"n": 1})), DONE)
    assert told(found) == [("v/blind", "exact", "held")]
    assert results(replays) == told_then(replays.world)
    assert str(Approval.objects.get().id) in replays.results()[0]
    assert compare(recording, found).verdict == "same"


@pytest.mark.promise("RP-04")
@pytest.mark.field("FL-90")
@pytest.mark.parametrize(("decide", "fate"), [(approve, "done"), (reject, "refused")])
def test_a_call_that_a_person_decided_about_is_answered_as_decided_and_files_nothing(
    replays: Replays, decide: Callable[[Approval], Approval], fate: str
) -> None:
    world = replays.world
    world.sql(HOLD)
    let_decide("olga")
    world.start(calls(("v/readable", {"n": 1})), says("done"))
    world.process("a").carry()
    decide(Approval.objects.get())
    recording = recording_of(world.process("b").carry())
    before = list(Approval.objects.values())
    found = replays.replay(recording, asks(("v/readable", {"n": 1})), DONE)
    assert told(found) == [("v/readable", "exact", fate)]
    assert results(replays) == told_then(world)
    assert found.status == "answered"
    assert list(Approval.objects.values()) == before
    assert compare(recording, found).verdict == "same"


@pytest.mark.promise("RP-03")
@pytest.mark.promise("RP-04")
def test_a_call_that_is_held_today_and_was_never_made_is_told_so_and_files_nothing(
    replays: Replays,
) -> None:
    recording = replays.recorded(says("done"))
    replays.world.sql(HOLD)
    found = replays.replay(recording, asks(("v/blind", {"n": 1})), DONE)
    assert told(found) == [("v/blind", "unserved", "failed")]
    assert "the recording has no call of v/blind left" in replays.results()[0]
    assert not Approval.objects.exists()


@pytest.mark.field("FL-90")
@pytest.mark.parametrize(
    ("scene", "tool", "settlement"),
    [
        (unknown_and_settled_by_a_person, "v/blind", "told_unknown"),
        (killed_and_resumed, "v/keyed", "sent_with_same_key"),
    ],
)
def test_a_call_in_doubt_is_answered_as_it_was_settled_and_nobody_looks_for_it(
    replays: Replays, scene: Callable[[World], Run], tool: str, settlement: str
) -> None:
    recording = recording_of(scene(replays.world))
    assert recording.calls[0].settlement == settlement
    received = list(replays.world.vendor.received)
    found = replays.replay(recording, asks((tool, {"n": 1})), DONE)
    assert told(found) == [(tool, "exact", recording.calls[0].fate)]
    assert results(replays) == told_then(replays.world)
    assert replays.world.vendor.received == received
    assert compare(recording, found).verdict == "same"


def test_a_call_that_was_read_back_is_answered_as_found(replays: Replays) -> None:
    world = replays.world
    world.start(calls(("v/readable", {"n": 1}), ids=["0"]), says("done"))
    first = world.process("a")
    die_after_effect("readable")
    with pytest.raises(Killed):
        first.carry()
    world.lapse(first)
    world.sql(
        "UPDATE runs_run SET settle_after = liyagent_now() - interval '1 s', not_before = NULL"
    )
    recording = recording_of(world.process("b").carry())
    assert recording.calls[0].settlement == "read_back"
    found = replays.replay(recording, asks(("v/readable", {"n": 1})), DONE)
    assert told(found) == [("v/readable", "exact", "done")]
    assert results(replays) == told_then(world)


@pytest.mark.promise("RP-03")
def test_our_own_key_is_no_argument_that_a_call_is_known_by(replays: Replays) -> None:
    recording = replays.recorded(calls(("v/readable", {"n": 1})), says("done"))
    found = replays.replay(
        recording, asks(("v/readable", {"n": 1, "client_key": "of the model's"})), DONE, strict=True
    )
    (call,) = found.calls
    assert (call.how, call.args, list(call.drift)) == (How.EXACT, {"n": 1}, [])
    assert Tool.objects.get(name="readable").key_place == "argument"


@pytest.mark.promise("RP-02")
@pytest.mark.promise("RP-03")
def test_masked_arguments_are_matched_as_masked(replays: Replays) -> None:
    replays.world.sql(MASK)
    recording = replays.recorded(calls(("v/look", {"to": "kim@example.com"})), says("done"))
    found = replays.replay(recording, asks(("v/look", {"to": "lee@example.com"})), DONE)
    assert told(found) == [("v/look", "exact", "done")]
    assert found.calls[0].args == {"to": "[email]"}


@pytest.mark.promise("RP-02")
def test_a_data_policy_made_since_masks_in_a_replay_and_the_drift_shows_it(
    replays: Replays,
) -> None:
    recording = replays.recorded(calls(("v/look", {"to": "kim@example.com"})), says("done"))
    replays.world.sql(MASK)
    found = replays.replay(recording, asks(("v/look", {"to": "kim@example.com"})), DONE)
    (call,) = found.calls
    assert (call.how, call.args) == (How.BY_ORDER, {"to": "[email]"})
    assert [it.path for it in call.drift] == ["to"]
    assert compare(recording, found).verdict == "changed"


@pytest.mark.promise("RP-04")
def test_what_another_agent_of_the_house_answered_is_served_and_no_child_is_made(
    replays: Replays, cast: Cast
) -> None:
    cast.lists = {
        "triage": [hands("reader"), says("told")],
        "reader": [calls(("v/keyed", {"by": "reader"})), says("all read")],
    }
    replays.world.start()
    root, child = carry_all(replays.world)
    assert (root.status, child.parent_id) == ("answered", root.id)
    recording = recording_of(root)
    assert [it.name for it in recording.calls] == ["agents/reader"]
    found = replays.replay(
        recording, asks(("agents/reader", {"task": "read it"})), Turn(text="told")
    )
    assert told(found) == [("agents/reader", "exact", "done")]
    assert replays.results() == ["all read"]
    assert compare(recording, found).verdict == "same"
    assert Run.objects.count() == 2
    assert "it is part of another run" in str(load_recording(child))


@pytest.mark.promise("RP-04")
def test_an_agent_of_the_house_that_was_never_asked_is_not_asked_by_a_replay(
    replays: Replays, cast: Cast
) -> None:
    cast.lists = {"triage": [says("told")]}
    replays.world.start()
    (root,) = carry_all(replays.world)
    found = replays.replay(
        recording_of(root), asks(("agents/reader", {"task": "read it"})), Turn(text="told")
    )
    assert told(found) == [("agents/reader", "unserved", "failed")]
    assert Run.objects.count() == 1


@pytest.mark.promise("RP-04")
@pytest.mark.parametrize("tool", ["ask", "task"])
@pytest.mark.parametrize("posture", ["allow", "hold"])
def test_a_remote_agent_is_refused_whatever_was_recorded_of_it(
    replays: Replays, tool: str, posture: str
) -> None:
    recording = replays.recorded(calls((f"v/{tool}", {"message": "how full?"})), says("done"))
    server = ToolServer.objects.get(key="v")
    effect = "write" if tool == "ask" else "read"
    Tool.objects.create(server=server, name=tool, effect=effect, key_place="none")
    ToolServer.objects.update(transport="a2a", url=replays.door.url)
    Agent.objects.update(write_posture=posture, may_wait=True)
    found = replays.replay(
        recording, asks((f"v/{tool}", {"message": "how full?"})), DONE, is_moved=False
    )
    assert told(found) == [(f"v/{tool}", "not_here", "refused")]
    assert "no other agent is asked for a replay" in replays.results()[0]
    assert compare(recording, found).facts()["counts"]["not_here"] == 1
    assert not Approval.objects.exists()


@pytest.mark.promise("RP-04")
@pytest.mark.parametrize("posture", ["allow", "hold"])
def test_the_agent_s_own_state_is_not_written_and_looks_at_it_are_answered_from_the_record(
    replays: Replays, posture: str
) -> None:
    asked = (("v/look", {"n": 1}), ("v/keyed", {"n": 2}))
    recording = replays.recorded(calls(*asked), says("done"))
    Agent.objects.update(write_posture=posture)
    found = replays.replay(recording, asks(*asked), DONE, is_moved=False)
    assert told(found) == [("v/look", "exact", "done"), ("v/keyed", "not_here", "refused")]
    assert "a replay changes nothing that this house keeps" in replays.results()[1]
    assert replays.world.vendor.received == ["look", "keyed"]
    assert compare(recording, found).verdict == "changed"


@pytest.mark.promise("RP-03")
def test_the_calls_of_one_step_are_answered_in_their_order_each_with_its_own(
    replays: Replays,
) -> None:
    one, two, three = (("v/look", {"n": number}) for number in (1, 2, 3))
    recording = replays.recorded(calls(one, two, three), says("done"))
    found = replays.replay(recording, asks(three, one, two), DONE)
    assert [json.loads(it)["seen"]["n"] for it in replays.results()] == [3, 1, 2]
    assert [(it.step, it.index) for it in found.calls] == [(1, 0), (1, 1), (1, 2)]
    assert all(it.how is How.EXACT for it in found.calls)
    # The order of calls whose arguments alone differ is no other sequence of tools.
    assert compare(recording, found).verdict == "same"


@pytest.mark.promise("RP-03")
@pytest.mark.field("FL-87")
def test_an_order_that_the_model_changed_swaps_no_answers_and_a_repeat_is_counted(
    replays: Replays,
) -> None:
    eu, us = ("v/look", {"q": "mail-eu"}), ("v/look", {"q": "mail-us"})
    recording = replays.recorded(calls(eu), calls(us), says("done"))
    found = replays.replay(recording, asks(us), asks(eu), asks(eu), DONE)
    assert [it.how.value for it in found.calls] == ["exact", "exact", "unserved"]
    assert [json.loads(it)["seen"]["q"] for it in replays.results()[:2]] == ["mail-us", "mail-eu"]
    diff = compare(recording, found)
    assert (diff.verdict, diff.differs) == ("changed", ("tools", "unserved"))
    assert diff.added == ("v/look",)


@pytest.mark.promise("RP-03")
def test_with_strict_another_argument_is_not_served(replays: Replays) -> None:
    recording = replays.recorded(calls(("v/look", {"n": 1})), says("done"))
    found = replays.replay(recording, asks(("v/look", {"n": 2})), DONE, strict=True)
    assert told(found) == [("v/look", "unserved", "failed")]
    assert [it.args for it in found.unused] == [{"n": 1}]


def test_calls_that_cannot_be_trusted_are_refused_as_in_any_run_and_pair_with_those_of_then(
    replays: Replays,
) -> None:
    cut = ModelAnswer(
        text="",
        finish=Finish.CUT,
        calls=(ToolCall(id="a", name="v/look", arguments_text='{"n": 1}', args={"n": 1}),),
    )
    broken = ModelAnswer(
        text="",
        finish=Finish.CALLS,
        calls=(ToolCall(id="b", name="v/look", arguments_text="{not json", args=None),),
    )
    recording = replays.recorded(cut, broken, says("done"))
    found = replays.replay(
        recording,
        Turn(calls=[wire_call("v/look", {"n": 1})], finish="length"),
        Turn(calls=[wire_call("v/look", "{not json", id="call_8f3KqZ1vX7")]),
        DONE,
    )
    assert told(found) == [("v/look", "refused", "refused")] * 2
    assert results(replays) == told_then(replays.world)
    assert found.unused == []
    assert compare(recording, found).verdict == "same"


@pytest.mark.promise("RP-02")
def test_a_tool_that_is_gone_is_refused_today_whatever_the_record_has_of_it(
    replays: Replays,
) -> None:
    recording = replays.recorded(calls(("v/look", {"n": 1})), says("done"))
    Tool.objects.filter(name="look").delete()
    found = replays.replay(recording, asks(("v/look", {"n": 1})), DONE)
    # No model server is told the name of a tool that there is not: it names what it likes.
    assert told(found) == [("v__look", "refused", "refused")]
    assert "there is no tool v__look" in replays.results()[0]
    assert [it.name for it in found.unused] == ["v/look"]
    assert compare(recording, found).differs == ("tools", "outcomes")


def test_an_agent_that_has_lost_all_its_tools_is_replayed_without_them(replays: Replays) -> None:
    recording = replays.recorded(calls(("v/look", {"n": 1})), says("done"))
    Agent.objects.update(tool_patterns=[])
    found = replays.replay(recording, DONE)
    assert "tools" not in replays.asked[0]
    assert (found.status, found.calls) == ("answered", [])
    assert compare(recording, found).dropped == ("v/look",)


def test_a_large_result_is_served_whole(replays: Replays) -> None:
    large: dict[str, Any] = {"q": "x" * 200_000}
    recording = replays.recorded(calls(("v/look", large)), says("done"))
    found = replays.replay(recording, asks(("v/look", large)), DONE)
    assert told(found) == [("v/look", "exact", "done")]
    assert json.loads(replays.results()[0]) == {"seen": large}
