"""A run of a workflow is a run: written ahead, taken over, keyed by its steps, and undone where it fails."""

from __future__ import annotations

from typing import Any

import pytest

from liyagent.approvals.models import Approval
from liyagent.workflows.errors import InputMisfit
from liyagent.workflows.signal import send_signal
from runs.keys import workflow_step_key
from runs.models import Call, Run
from sagas.models import Saga
from tests.unit.runs.carrying.vendor import Killed, die_after_effect, die_before_effect
from tests.unit.workflows.conftest import Works, tool


def test_steps_are_made_in_their_order_and_read_what_came_before(works: Works) -> None:
    run = works.start(
        tool("issue", "keyed", {"name": "{{ input.title }}"}),
        tool("note", "blind", {"about": {"$expr": "steps.issue.output.id"}}),
        output={"issue": "{{ steps.issue.output.id }}", "said": "id {{ steps.note.output.id }}"},
        given={"title": "disk full"},
    )
    run = works.world.process().carry()
    assert (run.status, run.workflow, run.reason) == ("answered", "work", "")
    assert [it.get("name") or it["about"] for it in works.world.vendor.rows] == ["disk full", 1]
    kinds = [it.kind for it in works.world.events(run)]
    assert kinds[:2] == ["run.started", "workflow.started"]
    assert kinds.count("workflow.step") == 2


@pytest.mark.promise("CR-28")
def test_a_steps_key_is_of_its_run_its_step_and_how_many_were_executed(works: Works) -> None:
    run = works.start(
        tool("first", "keyed", {"name": "a"}),
        {"id": "count", "type": "set", "values": {"n": "{{ steps.first.output.id }}"}},
        {
            "id": "again",
            "type": "branch",
            "cases": [{"when": "vars.n < `2`", "next": "first"}],
            "else": "end",
        },
    )
    works.world.process().carry()
    keys = list(
        Call.objects.filter(run_id=run.id).order_by("step").values_list("step_key", flat=True)
    )
    assert keys == [
        workflow_step_key(workflow_run_id=run.id, step_id="first", steps_executed=it)
        for it in (0, 3)
    ]


@pytest.mark.parametrize("die", [die_before_effect, die_after_effect])
@pytest.mark.parametrize("name", ["keyed", "readable"])
def test_another_process_goes_on_from_the_last_step(works: Works, die: Any, name: str) -> None:
    world = works.world
    run = works.start(
        tool("a", "keyed", {"n": 1}), tool("b", name, {"n": 2}), tool("c", "keyed", {"n": 3})
    )
    first = world.process("first")
    die(name if name == "readable" else "keyed")
    with pytest.raises(Killed):
        first.carry()
    world.lapse(first)
    world.sql("UPDATE runs_call SET deadline = liyagent_now()")
    world.sql("UPDATE runs_run SET settle_after = liyagent_now()")
    run = world.process("second").carry()
    made = [it["n"] for it in world.vendor.rows]
    if name == "readable" and die is die_before_effect:
        assert (run.status, made) == ("failed", [1])
    else:
        assert (run.status, made) == ("answered", [1, 2, 3])


@pytest.mark.promise("SG-01")
@pytest.mark.promise("SG-05")
def test_a_failed_workflow_is_undone_newest_first(works: Works) -> None:
    world = works.world
    run = works.start(
        tool("issue", "keyed", {"name": "{{ input.title }}"}, compensate={"tool": "keyed", "args": {"undo_of": {"$expr": "steps.issue.output.id"}, "why": "{{ input.title }}"}}),
        tool("change", "blind", {"x": 1}, compensate={"tool": "blind", "args": {"undo_of": "{{ steps.change.output.id }}"}}),
        tool("page", "gone", {}),
        given={"title": "disk full"},
    )  # fmt: skip
    run = world.process().carry()
    assert (run.status, run.error) == ("failed", "workflow.step")
    assert run.reason.startswith("step page: ")
    saga = Saga.objects.get(id=run.id)
    assert (saga.status, saga.failed_step, saga.workflow) == ("compensating", "page", "work")
    world.process("undoer").carry()
    assert [it["undo_of"] for it in world.vendor.rows[2:]] == [2, 1]
    assert world.vendor.rows[3]["why"] == "disk full"
    assert Saga.objects.get(id=run.id).status == "compensated"


def test_a_signal_wakes_the_step_that_waits_for_it(works: Works) -> None:
    run = works.start(
        {"id": "go", "type": "wait", "signal": "go"},
        tool("a", "keyed", {"n": {"$expr": "steps.go.output.payload.n"}}),
    )
    run = works.world.process().carry()
    assert run.status == "waiting"
    send_signal(run_id=run.id, name="go", payload={"n": 7}, actor="olga")
    run = works.world.process("b").carry()
    assert run.status == "answered"
    assert works.world.vendor.rows[0]["n"] == 7


def test_branches_are_runs_of_their_own_and_the_step_has_what_each_came_to(works: Works) -> None:
    run = works.start(
        tool("first", "keyed", {"n": 1}),
        {
            "id": "both",
            "type": "parallel",
            "branches": {
                "left": [tool("l", "keyed", {"n": "{{ steps.first.output.id }}"})],
                "right": [tool("r", "blind", {"n": 3})],
            },
        },
        output={
            "l": {"$expr": "steps.both.output.left.n"},
            "r": {"$expr": "steps.both.output.right.n"},
        },
    )
    process = works.world.process()
    process.carry()
    for taken in process.take():
        process.go_on(*taken)
    run = process.carry()
    assert (run.status, run.reason) == ("answered", "")
    assert Run.objects.filter(parent_id=run.id).count() == 2
    assert sorted(it["n"] for it in works.world.vendor.rows) == [1, 1, 3]


def test_a_persons_word_is_waited_for(works: Works) -> None:
    run = works.start(
        {"id": "ask", "type": "approve", "question": "Really?"}, tool("a", "keyed", {"n": 1})
    )
    run = works.world.process().carry()
    assert run.status == "waiting"
    assert Approval.objects.get().status == "pending"


def test_an_input_that_does_not_fit_is_refused_with_its_path(works: Works) -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    works.save(tool("a", "look"), input=schema)
    with pytest.raises(InputMisfit, match="title"):
        works.begin(given={"title": 7})
    with pytest.raises(InputMisfit, match="title"):
        works.begin(given={})
    assert not Run.objects.exists()
