"""What a failed run did is undone, newest first, once, and each undo ends as one thing (SG-02 to SG-07)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pytest_django import Settings

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.gateway.local import ToolFailed
from runs.compensate import compensate_run
from runs.errors import RunGoesOn
from runs.go_on import GoingOn, continue_run
from runs.keys import undo_key
from runs.models import Call, Run
from sagas.models import Saga, Undo
from tests.unit.runs.carrying.conftest import Process, World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect, die_before_effect

MAP = {
    "v/keyed": {"tool": "keyed", "args": {"undo_of": "{{ result.id }}", "name": "{{ args.name }}"}},
    "v/readable": {"tool": "v/readable", "args": {"undo_of": {"$expr": "result.id"}}},
    "v/blind": {"tool": "blind", "args": {"undo_of": "{{ result.id }}"}},
}


@pytest.fixture
def undoing(world: World) -> World:
    """The agent's map says how each write is undone; a cap ends its run behind the writes."""
    Agent.objects.update(compensations=MAP)
    return world


def fail(world: World, *writes: tuple[str, dict[str, Any]]) -> Run:
    """A run that makes these writes and then fails, as its model answers nothing."""
    world.start(*(calls(it) for it in writes), says(""))
    run = world.process().carry()
    assert run.status == "failed"
    return run


def undone(world: World, *, name: str = "undoer") -> Process:
    process = world.process(name)
    process.carry()
    return process


def undos(run: Run) -> list[tuple[str, str, int]]:
    found = Undo.objects.filter(saga_id=run.id).order_by("-order")
    return [(it.of_tool, it.fate, it.tries) for it in found]


@pytest.mark.promise("SG-05")
def test_a_failed_run_is_undone_newest_first(undoing: World) -> None:
    run = fail(undoing, ("v/keyed", {"name": "a"}), ("v/readable", {"x": 1}), ("v/blind", {"x": 2}))
    assert Saga.objects.get(id=run.id).status == "compensating"
    undone(undoing)
    assert [it.get("undo_of") for it in undoing.vendor.rows[3:]] == [3, 2, 1]
    assert undos(run) == [("blind", "done", 1), ("readable", "done", 1), ("keyed", "done", 1)]
    assert Saga.objects.get(id=run.id).status == "compensated"
    assert undoing.vendor.rows[5]["name"] == "a"
    assert [it["outcome"] for it in undoing.audit("saga.compensation")] == ["done"] * 3
    assert len(undoing.audit("saga.registered")) == 3
    assert len(undoing.audit("saga.compensated")) == 1


@pytest.mark.promise("SG-06")
@pytest.mark.parametrize("die", [die_before_effect, die_after_effect])
@pytest.mark.parametrize("tool", ["keyed", "readable", "blind"])
def test_no_undo_is_made_twice_whoever_dies(undoing: World, die: Any, tool: str) -> None:
    run = fail(undoing, ("v/keyed", {"name": "a"}), (f"v/{tool}", {"name": "b"}))
    first = undoing.process("first")
    die(tool)
    with pytest.raises(Killed):
        first.carry()
    undoing.lapse(first)
    undoing.sql("UPDATE runs_call SET deadline = liyagent_now()")
    undoing.sql("UPDATE runs_run SET settle_after = liyagent_now() WHERE status = 'queued'")
    undone(undoing)
    of = [it["undo_of"] for it in undoing.vendor.rows if "undo_of" in it]
    assert sorted(of) == sorted(set(of))
    fates = [fate for _, fate, _ in undos(run)]
    is_lost = tool != "keyed" and die is die_before_effect
    assert fates == (["unknown", "done"] if is_lost or tool == "blind" else ["done", "done"])
    expected = "partial" if "unknown" in fates else "compensated"
    assert Saga.objects.get(id=run.id).status == expected
    assert undoing.call(run, 1).step_key != Undo.objects.get(run_id=run.id, step=1).key


def test_a_run_that_answers_keeps_what_it_did(undoing: World) -> None:
    undoing.start(calls(("v/keyed", {"name": "a"})), says("done"))
    run = undoing.process().carry()
    assert (run.status, undos(run)) == ("answered", [("keyed", "owed", 0)])
    assert Saga.objects.get(id=run.id).status == "closed"
    assert Run.objects.count() == 1


@pytest.mark.promise("SG-07")
@pytest.mark.field("FL-59")
def test_one_that_fails_is_tried_three_times_and_the_older_ones_are_made(
    undoing: World, settings: Settings
) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, undo_backoff_seconds=0)
    run = fail(undoing, ("v/keyed", {"name": "a"}), ("v/readable", {"x": 2}), ("v/blind", {"x": 3}))
    Agent.objects.update(tool_patterns=["v/keyed", "v/blind"])
    sent: list[str] = []

    def fails(tool: str) -> None:
        if tool == "blind":
            sent.append(tool)
            raise ToolFailed("locked by change freeze")

    undoing.vendor.before_effect = fails
    undone(undoing)
    assert sent == ["blind"] * 3
    assert undos(run) == [("blind", "failed", 3), ("readable", "failed", 1), ("keyed", "done", 1)]
    assert Saga.objects.get(id=run.id).status == "partial"
    undoing.vendor.before_effect = lambda _tool: None
    compensate_run(run_id=run.id, actor="olga")
    undone(undoing, name="second")
    assert undos(run) == [("blind", "done", 1), ("readable", "failed", 1), ("keyed", "done", 1)]


def test_who_goes_on_from_an_undone_run_is_told_what_is_not_there_any_more(
    undoing: World,
) -> None:
    run = fail(undoing, ("v/keyed", {"name": "a"}), ("v/blind", {"x": 1}))
    with pytest.raises(RunGoesOn):
        continue_run(GoingOn(run_id=run.id, started_by=""))
    undone(undoing)
    started = continue_run(GoingOn(run_id=run.id, started_by=""))
    undoing.model.steps = [says("so be it")]
    undoing.process("c").carry()
    told = undoing.model.asked[-1].messages[-2].text
    assert Run.objects.get(id=started.run_id).continues == run.id
    assert told.count("UNDONE since") == 2


@pytest.mark.promise("SG-06")
def test_an_undo_is_sent_under_its_own_key_however_often(
    undoing: World, settings: Settings
) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, undo_backoff_seconds=0)
    run = fail(undoing, ("v/keyed", {"name": "a"}))
    failures = iter([ToolFailed("locked"), ToolFailed("locked")])

    def fails(_tool: str) -> None:
        if (error := next(failures, None)) is not None:
            raise error

    undoing.vendor.before_effect = fails
    undone(undoing)
    undo = Undo.objects.get(saga_id=run.id)
    assert (undo.fate, undo.tries) == ("done", 3)
    assert undoing.vendor.rows[-1]["key"] == undo.key == undo_key(run_id=run.id, step=1, index=0)
    made = Call.objects.filter(tool="keyed").exclude(run_id=run.id)
    assert set(made.values_list("step_key", flat=True)) == {undo.key}


@pytest.mark.field("FL-59")
@pytest.mark.parametrize("cap", [{"max_calls": 2}, {"max_seconds": 1}], ids=["calls", "seconds"])
def test_a_cap_of_its_agent_keeps_no_older_undo_from_being_made(
    undoing: World, settings: Settings, cap: dict[str, int]
) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, undo_backoff_seconds=0)
    run = fail(undoing, ("v/keyed", {"name": "a"}), ("v/blind", {"x": 1}))
    Agent.objects.update(**cap)
    undoing.sql("UPDATE runs_run SET created_at = created_at - interval '1 h'")

    def fails(tool: str) -> None:
        if tool == "blind":
            raise ToolFailed("locked by change freeze")

    undoing.vendor.before_effect = fails
    undone(undoing)
    assert undos(run) == [("blind", "failed", 3), ("keyed", "done", 1)]


@pytest.mark.promise("SG-07")
def test_every_undo_that_is_held_is_put_before_a_person(
    undoing: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.file_call.MOST_OPEN", 1)
    run = fail(undoing, ("v/keyed", {"name": "a"}), ("v/keyed", {"name": "b"}))
    Agent.objects.update(write_posture="hold")
    undone(undoing)
    assert undos(run) == [("keyed", "held", 1), ("keyed", "held", 1)]
    asked = set(Approval.objects.filter(kind="call").values_list("id", flat=True))
    assert set(Undo.objects.values_list("approval", flat=True)) == asked


@pytest.mark.promise("SG-06")
def test_a_row_that_was_put_back_to_owed_makes_no_undo_twice(undoing: World) -> None:
    run = fail(undoing, ("v/blind", {"x": 1}))
    undone(undoing)
    undoing.sql("UPDATE sagas_undo SET fate = 'owed'")
    undoing.sql("UPDATE sagas_saga SET status = 'partial'")
    compensate_run(run_id=run.id, actor="olga")
    undone(undoing, name="second")
    assert [it.get("undo_of") for it in undoing.vendor.rows] == [None, 1]
    assert undos(run) == [("blind", "done", 1)]
    assert Saga.objects.get(id=run.id).status == "compensated"


def test_an_undo_that_was_moved_under_another_saga_is_not_made(undoing: World) -> None:
    first = fail(undoing, ("v/blind", {"x": 1}))
    undone(undoing)
    other = fail(undoing, ("v/blind", {"x": 2}))
    moved = "UPDATE sagas_undo SET saga_id = %s, fate = 'owed', \"order\" = 9 WHERE saga_id = %s"
    undoing.sql(moved, other.id, first.id)
    undone(undoing, name="second")
    assert sorted(it["undo_of"] for it in undoing.vendor.rows if "undo_of" in it) == [1, 3]
    assert Undo.objects.get(order=9).fate == "failed"
