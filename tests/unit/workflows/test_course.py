"""The course of a workflow is a function of its definition, its input and what came of its steps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liyagent.workflows.check import check_definition
from liyagent.workflows.course import Ask, Came, Course, Over, Result
from liyagent.workflows.steps import definition_of

RUN = {"id": "r-1", "mission": "m-1", "agent": "desk"}


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "tool", "server": "jira", "tool": name, **more}


def course(*steps: dict[str, Any], given: Any = None, **more: Any) -> Course:
    data = {"steps": list(steps), **more}
    check_definition(data)
    return Course(definition=definition_of(data), input=given or {}, run=RUN)


def asked(it: Course) -> Ask:
    found = it.next()
    assert isinstance(found, Ask)
    return found


def over(it: Course) -> Over:
    found = it.next()
    assert isinstance(found, Over)
    return found


def done(output: Any = None) -> Result:
    return Result(came=Came.DONE, output=output)


def failed(error: str = "503") -> Result:
    return Result(came=Came.FAILED, error=error)


def test_steps_read_what_those_before_them_came_back_with_and_keep_its_type() -> None:
    it = course(
        tool("issue", args={"title": "{{ input.title }}"}),
        tool("page", args={"number": "{{ steps.issue.output.n }}", "told": "no {{ steps.issue.output.n }}"}),
        given={"title": "disk"},
    )  # fmt: skip
    assert asked(it).body["args"] == {"title": "disk"}
    it.took(done({"n": 7}))
    assert asked(it).body["args"] == {"number": 7, "told": "no 7"}
    it.took(done("paged"))
    assert over(it) == Over(output="paged")


def test_a_step_that_fails_is_tried_again_as_often_as_it_says_and_rests_longer_each_time() -> None:
    it = course(tool("issue", retry={"times": 2, "backoff_seconds": 3}))
    seen = []
    for _ in range(3):
        ask = asked(it)
        seen.append((ask.number, ask.attempt, ask.delay_seconds))
        it.took(failed())
    assert seen == [(0, 1, 0.0), (0, 2, 3.0), (0, 3, 6.0)]
    assert over(it) == Over(step="issue", came=Came.FAILED, error="503")


@pytest.mark.parametrize("came", [Came.UNKNOWN, Came.HELD])
def test_what_may_have_happened_or_will_is_not_tried_again_nor_taken_by_a_handler_or_fallback(
    came: Came,
) -> None:
    more = {"retry": {"times": 5}, "on_error": "other", "fallback": "x"}
    it = course(tool("issue", **more), tool("other"))
    asked(it)
    it.took(Result(came=came, error="nobody knows"))
    assert over(it) == Over(step="issue", came=came, error="nobody knows")


def test_a_refusal_is_not_tried_again_and_may_be_taken() -> None:
    it = course(tool("issue", retry={"times": 5}, on_error="other"), tool("never"), tool("other"))
    asked(it)
    it.took(Result(came=Came.REFUSED, error="forbidden"))
    assert asked(it).step.id == "other"
    assert it.scope()["steps"]["issue"]["error"] == "forbidden"


def test_a_fallback_is_the_output_and_no_failure() -> None:
    it = course(tool("issue", fallback={"key": "none"}), tool("page", args={"k": "{{ steps.issue.output.key }}"}))  # fmt: skip
    asked(it)
    it.took(failed())
    assert asked(it).body["args"] == {"k": "none"}


def test_a_missing_key_fails_the_step_by_its_name_and_is_not_tried_again() -> None:
    it = course(
        tool("issue"), tool("page", args={"k": "{{ steps.issue.output.key }}"}, retry={"times": 3})
    )
    asked(it)
    it.took(done({"id": 1}))
    told = over(it)
    assert (told.step, told.came) == ("page", Came.FAILED)
    assert "'key'" in told.error


def test_a_loop_back_is_another_execution_and_ends_at_its_cap() -> None:
    it = course(tool("poll"), {"id": "again", "type": "branch", "cases": [{"when": "steps.poll.output.busy", "next": "poll"}], "else": "end"}, max_steps=6)  # fmt: skip
    numbers = []
    while isinstance(ask := it.next(), Ask):
        numbers.append(ask.number)
        it.took(done({"busy": True}))
    assert numbers == [0, 2, 4]
    assert ask == Over(step="poll", came=Came.FAILED, is_cap=True, error="6 steps were executed, as many as it may")  # fmt: skip


def test_a_step_whose_condition_does_not_hold_is_left_out() -> None:
    it = course(tool("page", when="input.severity == 'high'"), tool("note"), given={"severity": "low"})  # fmt: skip
    assert asked(it).step.id == "note"
    assert [told.result.came for told in it.told] == [Came.SKIPPED]


RESULTS = st.builds(
    Result,
    came=st.sampled_from([it for it in Came if it is not Came.SKIPPED]),
    output=st.sampled_from([None, 1, {"key": "A"}, {"busy": True}]),
    error=st.just("e"),
)


@given(st.lists(RESULTS, max_size=40))
def test_whoever_goes_through_it_anew_stands_where_the_other_stood(results: list[Result]) -> None:
    steps = (
        tool("issue", retry={"times": 1}),
        {"id": "keep", "type": "set", "values": {"key": "{{ steps.issue.output.key }}"}, "on_error": "poll"},
        tool("poll", on_error="last"),
        {"id": "again", "type": "branch", "cases": [{"when": "steps.poll.output.busy", "next": "issue"}], "else": "last"},
        tool("last", fallback="{{ vars.key }}"),
    )  # fmt: skip
    first, second = (course(*steps, max_steps=30) for _ in range(2))
    for result in results:
        found = first.next()
        assert found == first.next() == second.next()
        if isinstance(found, Over):
            return
        first.took(result)
        second.took(result)
        assert first.scope() == second.scope()
