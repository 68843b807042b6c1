"""How a run ends, and what it may do until then."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission

from liyagent.agents.hooks import HOOKS, About, Hook, HookRefused
from liyagent.agents.models import Agent
from liyagent.providers.types import Finish, ModelAnswer, ModelRejected, ModelUnavailable, ToolCall
from runs import ask
from runs.models import Run
from runs.start import start_run
from runs.stop import stop_run
from runs.transcript import read_transcript
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect, die_before_effect


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        (says("all well"), "answered", ""),
        (says("  "), "failed", "empty"),
        (ModelAnswer(text="I cannot", finish=Finish.REFUSED), "declined", "refused"),
        (ModelAnswer(text="half an ans", finish=Finish.CUT), "failed", "cut"),
    ],
)
def test_each_last_answer_has_its_own_outcome(
    world: World, answer: ModelAnswer, status: str, reason: str
) -> None:
    world.start(answer)
    ended = world.process().carry()
    assert ended.status == status
    assert reason in ended.reason
    assert read_transcript(ended)["is_complete"]


@pytest.mark.field("FL-46")
def test_no_call_of_a_cut_answer_is_made(world: World) -> None:
    cut = calls(("v/blind", {"n": 1}), ("v/look", {"n": 1}))
    world.start(ModelAnswer(calls=cut.calls, finish=Finish.CUT), says("done"))
    assert world.process().carry().status == "answered"
    assert world.vendor.received == []
    assert all("cut at its token limit" in it for it in world.model.results())


@pytest.mark.field("FL-46")
@pytest.mark.field("FL-47")
def test_calls_that_cannot_be_trusted_are_error_results_beside_good_ones(world: World) -> None:
    world.sql(
        """UPDATE gateway_tool SET schema = '{"type": "object", "required": ["n"]}' WHERE name = 'blind'"""
    )
    asked = calls(("v/look", {"n": 1}), ("v/blind", {}), ("v/delete_everything", {}))
    broken = ToolCall(
        id="toolu_9f3Kq", name="v/blind", arguments_text='{"n": "restart o', args=None
    )
    run = world.start(ModelAnswer(calls=(*asked.calls, broken), finish=Finish.CALLS), says("done"))
    assert world.process().carry().status == "answered"
    assert world.vendor.received == ["look"]
    good, missing, unknown, cut = world.model.results()
    assert "seen" in good
    assert "'n' is a required property" in missing
    assert "no tool v/delete_everything" in unknown
    assert "no JSON object" in cut
    assert not world.sql("SELECT 1 FROM runs_call WHERE run_id = %s", run.id)
    assert "restart o" in str(read_transcript(Run.objects.get(id=run.id)))


def test_the_step_cap_ends_a_run_that_would_go_on_for_ever(world: World) -> None:
    world.sql("UPDATE agents_agent SET max_steps = 3")
    world.start(*[calls(("v/look", {"n": n})) for n in range(9)])
    ended = world.process().carry()
    assert (ended.status, ended.model_steps) == ("failed", 3)
    assert "cap of 3" in ended.reason


@pytest.mark.parametrize("error", [ModelRejected("wrong key"), ModelUnavailable("busy")])
def test_a_model_that_gives_no_answer_fails_the_run_with_its_words(
    world: World, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask, "FIRST_PAUSE_SECONDS", 0.001)
    asked: list[int] = []

    def refuse(_request: Any) -> ModelAnswer:
        asked.append(1)
        raise error

    monkeypatch.setattr(type(world.model), "ask", lambda _self, request: refuse(request))
    world.start(says("never"))
    ended = world.process().carry()
    assert ended.status == "failed"
    assert str(error) in ended.reason
    assert len(asked) == (1 if isinstance(error, ModelRejected) else ask.MOST_TRIES)


def test_a_stop_ends_the_run_before_its_next_call(world: World) -> None:
    run = world.start(calls(("v/blind", {"n": 1}), ("v/blind", {"n": 2})), says("done"))

    def stop(_tool: str) -> None:
        stop_run(run_id=run.id, actor="op", reason="enough")

    world.vendor.after_effect = stop
    ended = world.process().carry()
    assert (ended.status, ended.reason) == ("stopped", "stopped by op: enough")
    assert world.vendor.received == ["blind"]
    assert world.call(run, 1).fate == "done"


@pytest.mark.promise("CR-17")
def test_a_stop_while_its_process_is_dead_is_honoured_by_the_resume(world: World) -> None:
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    first = world.process("first")
    die_before_effect("keyed")
    with pytest.raises(Killed):
        first.carry()
    stop_run(run_id=run.id, actor="op", reason="enough")
    world.prove_dead(first)
    ended = world.process("second").carry()
    assert ended.status == "stopped"
    assert world.vendor.received == ["keyed"]
    assert world.call(run, 1).fate == "unknown"
    assert len(world.model.asked) == 1


@pytest.mark.promise("CR-17")
@pytest.mark.parametrize("change", ["is_contained = true", "is_enabled = false"])
def test_a_contained_agent_sends_nothing_more(world: World, change: str) -> None:
    run = world.start(calls(("v/blind", {"n": 1}), ("v/blind", {"n": 2})), says("done"))

    def contain(_tool: str) -> None:
        world.sql(f"UPDATE agents_agent SET {change}")

    world.vendor.after_effect = contain
    ended = world.process().carry()
    assert ended.status == "failed"
    assert world.vendor.received == ["blind"]
    assert world.call(run, 1).fate == "done"


@pytest.mark.promise("CR-17")
def test_a_starter_who_may_no_longer_run_agents_is_not_resumed_for(world: World) -> None:
    user = get_user_model().objects.create_user("kim", password="x")
    user.user_permissions.add(Permission.objects.get(codename="operate"))
    world.model.steps = [calls(("v/keyed", {"n": 1})), says("done")]
    start_run(
        agent_key="triage", task="t", entry="api", started_by="kim", mission="", request_id=""
    )
    first = world.process("first")
    die_before_effect("keyed")
    with pytest.raises(Killed):
        first.carry()
    world.prove_dead(first)
    user.is_active = False
    user.save()
    ended = world.process("second").carry()
    assert ended.status == "failed"
    assert "kim" in ended.reason
    assert world.vendor.received == ["keyed"]


def test_the_same_intent_after_an_unknown_outcome_is_refused_and_a_reworded_one_is_not(
    world: World,
) -> None:
    same, other = ("v/blind", {"n": 1}), ("v/blind", {"n": 1, "please": True})
    run = world.start(calls(same), calls(same), calls(other), says("done"))
    first = world.process("first")
    die_after_effect("blind")
    with pytest.raises(Killed):
        first.carry()
    world.prove_dead(first)
    ended = world.process("second").carry()
    assert ended.status == "answered"
    assert len(world.vendor.of("blind")) == 2
    assert world.call(run, 1).fate == "unknown"
    assert not world.sql("SELECT 1 FROM runs_call WHERE run_id = %s AND step = 2", run.id)
    refused = next(it.text for it in world.model.asked[2].messages if "unknown outcome" in it.text)
    assert f"call {world.call(run, 1).id}" in refused


def test_a_held_write_of_a_run_that_may_not_wait_is_told_with_its_reason(world: World) -> None:
    world.sql("UPDATE agents_agent SET write_posture = 'hold'")
    world.start(calls(("v/blind", {"n": 1}), ("v/look", {})), says("done"))
    assert world.process().carry().status == "answered"
    assert world.vendor.received == ["look"]
    assert "waits for a person's approval" in world.model.results()[0]
    assert "write posture" in world.model.results()[0]


@pytest.mark.field("FL-06")
@pytest.mark.field("FL-78")
@pytest.mark.parametrize(
    ("tool", "fate"), [("blind", "unknown"), ("readable", "done"), ("keyed", "done")]
)
def test_a_write_without_an_answer_in_a_living_run_is_settled_like_one_in_doubt(
    world: World, tool: str, fate: str
) -> None:
    def hang_up(_tool: str) -> None:
        world.vendor.after_effect = lambda _tool: None
        raise ConnectionResetError

    world.vendor.after_effect = hang_up
    run = world.start(calls((f"v/{tool}", {"n": 1})), says("done"))
    assert world.process().carry().status == "answered"
    assert len(world.vendor.of(tool)) == 1
    assert world.call(run, 1).fate == fate


def test_a_run_recorded_as_metadata_keeps_its_answer_alone(world: World) -> None:
    world.sql("UPDATE agents_agent SET recording = 'metadata'")
    world.start(calls(("v/look", {})), says("the answer"))
    told = read_transcript(world.process().carry())
    assert (told["answer"], told["messages"]) == ("the answer", [])


@pytest.mark.promise("CR-10")
@pytest.mark.promise("CR-09")
@pytest.mark.parametrize(("tool", "commits"), [("look", 1), ("blind", 3)])
def test_a_step_of_reads_costs_one_commit_and_a_write_two_more(
    world: World, tool: str, commits: int
) -> None:
    # Each hot statement writes the head, so the transactions that did are the commits of the attempt.
    world.sql("CREATE TABLE seen (xid xid8)")
    world.sql(
        "CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN INSERT INTO seen VALUES (pg_current_xact_id()); RETURN NULL; END $$"
    )
    world.sql("CREATE TRIGGER see AFTER UPDATE ON runs_run FOR EACH ROW EXECUTE FUNCTION see()")

    def spent(steps: int) -> int:
        world.start(*[calls((f"v/{tool}", {"n": n})) for n in range(steps)], says("done"))
        world.sql("TRUNCATE seen")
        assert world.process().carry().status == "answered"
        return int(world.sql("SELECT count(DISTINCT xid) FROM seen")[0][0])

    assert spent(12) - spent(2) == 10 * commits


@pytest.mark.promise("EV-07")
def test_events_that_cannot_be_written_never_hold_up_the_run(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'disk full'; END $$"
    )
    world.sql(
        "CREATE TRIGGER refuse BEFORE INSERT ON events_runevent FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
    run = world.start(calls(("v/blind", {"n": 1})), says("done"))
    ended = world.process().carry()
    assert (ended.status, ended.events_missing) == ("answered", 5)
    assert world.events(run) == []
    assert len(world.vendor.of("blind")) == 1
    assert f"events of run {run.id} dropped: disk full" in caplog.text


@pytest.mark.parametrize("stops", [False, True], ids=["at a cap", "in the middle of a step"])
def test_the_transcript_of_a_run_that_ends_after_a_call_has_what_came_of_it(
    world: World, monkeypatch: pytest.MonkeyPatch, stops: bool
) -> None:
    class Stopping(Hook):
        def after_call(self, about: About, call: Any, outcome: Any) -> None:
            raise HookRefused("enough")

    monkeypatch.setitem(HOOKS, "stopping", Stopping())
    Agent.objects.update(max_steps=1, hooks=["stopping"] if stops else [])
    world.start(calls(("v/keyed", {"n": 7}), ("v/look", {})), says("done"))
    ended = world.process().carry()
    assert ended.error == ("hook.failed" if stops else "cap.steps")
    messages = read_transcript(ended)["messages"]
    assert [it["role"] for it in messages] == ["user", "assistant", *["tool"] * (1 if stops else 2)]
    assert '"n":7' in messages[2]["text"]
