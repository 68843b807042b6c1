"""A routine is a workflow: it makes the pattern's calls, and where one fails it asks the agent, told what was done."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from liyagent.workflows.check import problems_of
from liyagent.workflows.course import Ask, Came, Course, Over, Result
from liyagent.workflows.steps import definition_of
from routines.compile import compile_routine
from routines.compiled import Compiled
from routines.definition import ASK, LONGEST_TASK, why_not_taken, written
from routines.recorded import RecordedCall, RecordedRun

RUN = {"id": "r", "mission": "m", "agent": "desk"}


def runs(count: int = 3) -> list[RecordedRun]:
    return [
        RecordedRun(
            id=f"r{it}",
            task=f"Restart web-{it}",
            calls=(
                RecordedCall(server="cmdb", tool="find", args={"host": f"web-{it}"}, output={"id": f"CI-10{it}", "log": "x" * 90}),
                RecordedCall(server="desk", tool="open", args={"ci": f"CI-10{it}", "note": "{{ now }}"}, output=f"CHG-{it}"),
                RecordedCall(server="ssh", tool="restart", args={"n": it, "on": it > 1}, output=None),
            ),
        )
        for it in range(count)
    ]  # fmt: skip


def routine() -> Compiled:
    return compile_routine(runs(), agent="desk")


def course(**given: Any) -> Course:
    values = {"task": "Restart web-7", "host": "web-7", "n": 7, "on": True, **given}
    return Course(definition=definition_of(routine().definition), input=values, run=RUN)


def next_of(it: Course) -> Ask:
    asked = it.next()
    assert isinstance(asked, Ask)
    return asked


def done(output: Any) -> Result:
    return Result(came=Came.DONE, output=output)


@pytest.mark.promise("RT-03")
def test_every_tool_step_leads_to_the_agent_itself_and_nothing_else_does() -> None:
    definition = routine().definition
    assert problems_of(definition) == []
    steps = {it["id"]: it for it in definition["steps"]}
    assert [*steps] == ["literals", "s1", "s2", "s3", ASK]
    assert [steps[it]["on_error"] for it in ("s1", "s2", "s3")] == [ASK] * 3
    assert steps["s3"]["next"] == steps[ASK]["next"] == "end"
    assert (steps[ASK]["type"], steps[ASK]["agent"]) == ("agent", "desk")
    assert "{{ input.task }}" in steps[ASK]["task"]


@pytest.mark.promise("RT-03")
def test_a_step_that_fails_has_the_agent_told_the_task_and_what_was_done_with_arguments_and_answers() -> None:  # fmt: skip
    it = course()
    assert next_of(it).body["args"] == {"host": "web-7"}
    it.took(done({"id": "CI-107", "log": "all well"}))
    assert next_of(it).body["args"] == {"ci": "CI-107", "note": "{{ now }}"}
    it.took(done("CHG-7"))
    assert next_of(it).step.id == "s3"
    it.took(Result(came=Came.FAILED, error="no such host"))
    asked = next_of(it)
    assert (asked.step.id, asked.body["agent"]) == (ASK, "desk")
    told = asked.body["task"]
    assert told.startswith("Restart web-7\n")
    assert "do not make those calls again" in told
    assert told.splitlines()[-3:] == [
        '- s1, cmdb/find with {"host":"web-7"}: {"id":"CI-107","log":"all well"}',
        '- s2, desk/open with {"ci":"CI-107","note":"{{ now }}"}: CHG-7',
        '- s3, ssh/restart with {"n":7,"on":true}: failed: no such host',
    ]
    it.took(done("restarted by hand"))
    over = it.next()
    assert over == Over(output="restarted by hand")


@pytest.mark.promise("RT-03")
def test_a_value_that_is_not_where_it_was_and_a_refusal_have_the_agent_asked_too() -> None:
    it = course()
    next_of(it)
    it.took(done({"name": "an answer of another shape"}))
    asked = next_of(it)
    assert asked.step.id == ASK
    assert "- s2, desk/open: failed: 'steps.s1.output.id' leads nowhere" in asked.body["task"]
    it = course()
    next_of(it)
    it.took(Result(came=Came.REFUSED, error="not allowed"))
    told = next_of(it).body["task"].splitlines()
    assert told[-1] == '- s1, cmdb/find with {"host":"web-7"}: refused: not allowed'


def test_an_unknown_outcome_asks_nobody() -> None:
    it = course()
    next_of(it)
    it.took(Result(came=Came.UNKNOWN, error="cut off"))
    assert it.next() == Over(step="s1", came=Came.UNKNOWN, error="cut off")


@pytest.mark.promise("RT-03")
def test_what_the_agent_is_told_is_bounded_whatever_tools_answered_and_the_task_is() -> None:
    it = course(task="t" * LONGEST_TASK)
    next_of(it)
    it.took(done({"id": "CI-107", "log": ["{{ x }}" * 100_000]}))
    next_of(it)
    it.took(Result(came=Came.FAILED, error="e" * 1_000_000))
    told = next_of(it).body["task"]
    # As much as an agent may be given.
    assert len(told) < 100_000
    assert told.count("… (cut)") == 2
    assert "CI-107" in told


def test_the_input_wants_the_task_and_each_parameter_with_its_types() -> None:
    schema = routine().definition["input"]
    assert schema["required"] == ["task", "host", "n", "on"]
    assert [schema["properties"][it]["type"] for it in schema["required"]] == ["string", "string", "integer", "boolean"]  # fmt: skip
    taken = Draft202012Validator(schema)
    whole = {"task": "t", "host": "h", "n": 5.0, "on": True}
    assert taken.is_valid(whole)
    for wrong in ({**whole, "more": 1}, {**whole, "n": True}, {**whole, "on": 1}, {**whole, "task": "t" * (LONGEST_TASK + 1)}, {"task": "t"}):  # fmt: skip
        assert not taken.is_valid(wrong)


def test_a_routine_without_odd_literals_has_no_step_beside_its_calls() -> None:
    plain = [
        RecordedRun(id=f"r{it}", task="t", calls=(RecordedCall(server="a", tool="b", args={"x": "{ y }"}, output=0),))
        for it in range(2)
    ]  # fmt: skip
    definition = compile_routine(plain, agent="desk").definition
    assert [it["id"] for it in definition["steps"]] == ["s1", ASK]
    assert "max_steps" not in definition
    assert written("{ y }") == "{ y }"


def test_what_workflows_do_not_take_is_told() -> None:
    assert why_not_taken({"steps": []}).startswith("a workflow would not take it: $.steps is")
    assert why_not_taken(routine().definition) == ""
