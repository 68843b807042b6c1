"""What fails in a workflow: tried again with its key, taken by what its definition says, or handed on; never guessed at."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from liyagent.gateway.local import ToolFailed
from liyagent.workflows.models import Workflow
from runs.checkpoint import sealer_of
from runs.errors import OfWorkflow
from runs.go_on import GoingOn, continue_run
from runs.marks import open_mark
from runs.models import Call, Run
from sagas.models import Saga, Undo
from tests.unit.runs.carrying.conftest import World
from tests.unit.runs.carrying.vendor import Killed, die_after_effect
from tests.unit.workflows.conftest import Works, tool

AT_ONCE = {"times": 2, "backoff_seconds": 0}


def fail_times(world: World, tool: str, times: int) -> list[str]:
    """Let the tool say that it failed, so often."""
    failed: list[str] = []

    def fails(called: str) -> None:
        if called == tool and len(failed) < times:
            failed.append(called)
            raise ToolFailed("locked by change freeze")

    world.vendor.before_effect = fails
    return failed


@pytest.mark.promise("CR-28")
@pytest.mark.promise("SG-04")
def test_a_failure_is_tried_again_with_the_same_key_and_nothing_is_undone(works: Works) -> None:
    fail_times(works.world, "keyed", 2)
    run = works.start(tool("a", "keyed", {"n": 1}, retry=AT_ONCE))
    run = works.world.process().carry()
    assert (run.status, run.reason) == ("answered", "")
    calls = Call.objects.filter(run_id=run.id).order_by("step")
    assert [it.fate for it in calls] == ["failed", "failed", "done"]
    assert len({it.step_key for it in calls}) == 1
    retries = [it for it in works.world.events(run) if it.kind == "retry"]
    assert len(retries) == 2
    assert not Saga.objects.exists()


@pytest.mark.promise("SG-04")
@pytest.mark.parametrize(
    "taken", [{"on_error": "after"}, {"fallback": {"id": 7}}], ids=["on_error", "fallback"]
)
def test_a_failure_that_the_definition_takes_is_none(works: Works, taken: dict[str, Any]) -> None:
    fail_times(works.world, "keyed", 9)
    run = works.start(
        tool("first", "blind", {"x": 1}, compensate={"tool": "blind", "args": {"undo_of": 1}}),
        tool("a", "keyed", {"n": 1}, **taken),
        {"id": "after", "type": "set", "values": {"came": "{{ steps.a.came }}"}},
    )
    run = works.world.process().carry()
    assert run.status == "answered"
    assert Saga.objects.get(id=run.id).status == "closed"
    assert len(works.world.vendor.rows) == 1


def test_what_nobody_can_tell_of_is_neither_tried_again_nor_taken(works: Works) -> None:
    def breaks(called: str) -> None:
        if called == "blind":
            raise RuntimeError("reset by peer")

    works.world.vendor.after_effect = breaks
    run = works.start(
        tool("first", "keyed", {"n": 1}, compensate={"tool": "keyed", "args": {"undo_of": 1}}),
        tool("a", "blind", {"x": 1}, retry=AT_ONCE, on_error="after", fallback=3),
        {"id": "after", "type": "set", "values": {"x": 1}},
    )
    run = works.world.process().carry()
    assert (run.status, run.error) == ("failed", "workflow.unknown")
    assert works.world.vendor.received.count("blind") == 1
    works.world.process("undoer").carry()
    assert [it.fate for it in Undo.objects.all()] == ["done"]
    # Its own write may have happened: it is not shown as undone (ruling 34).
    assert Saga.objects.get(id=run.id).status == "partial"


def test_a_loop_without_an_end_meets_its_cap(works: Works) -> None:
    run = works.start(tool("a", "look", {"n": 1}, next="a"), max_steps=5)
    run = works.world.process().carry()
    assert (run.status, run.model_steps, run.error) == ("failed", 5, "cap.steps")
    assert "as many as it may" in run.reason


def test_a_missing_key_fails_its_step_with_its_name(works: Works) -> None:
    run = works.start(tool("a", "look"), tool("b", "keyed", {"n": "{{ steps.a.output.nothing }}"}))
    run = works.world.process().carry()
    assert run.status == "failed"
    assert "step b" in run.reason
    assert "'nothing'" in run.reason
    assert works.world.vendor.rows == []


@pytest.mark.promise("SG-03")
def test_an_undo_that_reads_what_is_not_there_is_shown_as_missing_at_once(works: Works) -> None:
    undo = {"tool": "keyed", "args": {"undo_of": "{{ steps.a.output.nothing }}"}}
    run = works.start(tool("a", "keyed", {"n": 1}, compensate=undo), tool("b", "gone"))
    run = works.world.process().carry()
    found = Undo.objects.get(run_id=run.id)
    assert (found.fate, found.note.endswith("leads nowhere at 'nothing'")) == ("missing", True)
    assert Saga.objects.get(id=run.id).status == "handed_off"
    assert len(works.world.vendor.rows) == 1


@pytest.mark.promise("SG-03")
@pytest.mark.field("FL-64")
def test_what_is_undone_was_fixed_when_it_was_done(works: Works) -> None:
    """A loop made two issues: two undos, each with its own arguments and key, whatever was changed since."""
    world = works.world
    undo = {
        "tool": "keyed",
        "args": {"undo_of": {"$expr": "steps.issue.output.id"}, "of": "{{ vars.n }}"},
    }
    run = works.start(
        {"id": "begin", "type": "set", "values": {"n": 0}},
        tool("issue", "keyed", {"name": "i"}, compensate=undo),
        {"id": "count", "type": "set", "values": {"n": "{{ steps.issue.output.id }}"}},
        {"id": "again", "type": "branch", "cases": [{"when": "vars.n < `2`", "next": "issue"}]},
        {"id": "stop", "type": "approve", "question": "?"},
    )
    process = world.process()
    run = process.carry()
    assert run.status == "waiting"
    Workflow.objects.update(definition={"steps": [tool("issue", "look")]})
    world.sql("UPDATE runs_run SET status = 'queued', stop_requested = true, stopped_by = 'olga'")
    assert world.process("b").carry().status == "stopped"
    world.process("undoer").carry()
    assert [(it["undo_of"], it["of"]) for it in world.vendor.rows[2:]] == [(2, 1), (1, 0)]
    assert len(set(Undo.objects.values_list("key", flat=True))) == 2


def test_a_step_has_the_time_that_it_is_given(works: Works) -> None:
    run = works.start(tool("a", "keyed", {"n": 1}, timeout=0.5))
    run = works.world.process().carry()
    mark = open_mark(sealer_of(run), Call.objects.get(run_id=run.id))
    assert mark.payload.timeout_seconds == 0.5


def test_a_branch_that_fails_fails_its_step_once_the_others_have_ended(works: Works) -> None:
    world = works.world
    undo = {"tool": "keyed", "args": {"undo_of": 1}}
    run = works.start(
        {
            "id": "both",
            "type": "parallel",
            "branches": {
                "bad": [tool("x", "gone")],
                "good": [tool("y", "keyed", {"n": 2}, compensate=undo)],
            },
        },
        output="never",
    )
    process = world.process()
    process.carry()
    for taken in process.take():
        process.go_on(*taken)
    run = process.carry()
    assert (run.status, run.error) == ("failed", "workflow.step")
    assert "branch bad: step x" in run.reason
    world.process("undoer").carry()
    assert [it.fate for it in Undo.objects.filter(saga_id=run.id)] == ["done"]
    assert Saga.objects.get(id=run.id).status == "compensated"


def test_a_branch_that_nobody_can_tell_of_is_not_taken_either(works: Works) -> None:
    def breaks(called: str) -> None:
        if called == "blind":
            raise RuntimeError("reset by peer")

    works.world.vendor.after_effect = breaks
    branches = {"bad": [tool("x", "blind")]}
    run = works.start({"id": "both", "type": "parallel", "branches": branches, "fallback": 1})
    process = works.world.process()
    process.carry()
    for taken in process.take():
        process.go_on(*taken)
    run = process.carry()
    assert (run.status, run.error) == ("failed", "workflow.unknown")


def test_a_branch_that_dies_is_gone_on_with_and_its_parent_waits(works: Works) -> None:
    world = works.world
    run = works.start(
        {"id": "both", "type": "parallel", "branches": {"a": [tool("x", "keyed", {"n": 1})], "b": [tool("y", "keyed", {"n": 2})]}},
        output={"$expr": "steps.both.output.a.n"},
    )  # fmt: skip
    process = world.process()
    process.carry()
    die_after_effect("keyed")
    taken = process.take()
    for it in taken:
        with suppress(Killed):
            process.go_on(*it)
    world.lapse(process)
    other = world.process("other")
    for it in other.take():
        other.go_on(*it)
    for it in other.take():
        other.go_on(*it)
    run = Run.objects.get(id=run.id)
    assert (run.status, sorted(it["n"] for it in world.vendor.rows)) == ("answered", [1, 2])


def test_a_workflows_run_is_not_gone_on_from(works: Works) -> None:
    works.start(tool("a", "gone"))
    run = works.world.process().carry()
    with pytest.raises(OfWorkflow):
        continue_run(GoingOn(run_id=run.id, started_by=""))


def test_branches_that_would_be_given_too_much_to_read_fail_their_step(works: Works) -> None:
    keeps: list[dict[str, Any]] = [
        {"id": f"keep{it}", "type": "set", "values": {f"v{it}": "{{ input.x }}"}} for it in range(3)
    ]
    branches = {f"b{it}": [tool(f"t{it}", "keyed")] for it in range(20)}
    more = {"id": "more", "type": "parallel", "branches": branches}
    works.start(*keeps, more, given={"x": "x" * 1_000_000})
    run = works.world.process().carry()
    assert (run.status, run.error) == ("failed", "workflow.step")
    assert "step more: its branches would be given" in run.reason
    assert Run.objects.count() == 1
