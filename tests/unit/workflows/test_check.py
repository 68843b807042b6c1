"""A definition that is wrong anywhere is refused, with the JSON path, what was found and what was meant."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liyagent.workflows.check import check_definition
from liyagent.workflows.errors import DefinitionWrong

UNDO = {"tool": "delete_issue", "args": {"issue_key": {"$expr": "steps.issue.output.key"}}}
ISSUE = {"id": "issue", "type": "tool", "server": "jira", "tool": "create_issue", "args": {"summary": "{{ input.title }}"}, "compensate": UNDO}  # fmt: skip


def with_step(**changes: Any) -> dict[str, Any]:
    return {"steps": [{**ISSUE, **changes}]}


def branch(*cases: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"steps": [ISSUE, {"id": "b", "type": "branch", "cases": list(cases), **more}]}


def test_the_example_of_the_documents_is_one() -> None:
    check_definition({"steps": [ISSUE]})


@pytest.mark.parametrize(
    ("data", "path", "said"),
    [
        (5, "$", "not of type 'object'"),
        ({}, "$", "'steps' is a required property"),
        ({"steps": []}, "$.steps", "non-empty"),
        (with_step(id="my-step"), "$.steps[0].id", "does not match"),
        (with_step(id="end"), "$.steps[0].id", "where a workflow ends"),
        (with_step(type="shell"), "$.steps[0].type", "not one of"),
        (with_step(retries=3), "$.steps[0]", "no such field"),
        (with_step(retry={"times": 11}), "$.steps[0].retry.times", "maximum of 10"),
        (with_step(next="page"), "$.steps[0].next", "'page' is no step; those are issue, and end"),
        (with_step(on_error="page"), "$.steps[0].on_error", "'page' is no step"),
        (with_step(when="a =="), "$.steps[0].when", "no JMESPath"),
        (with_step(args={"a": ["{{ vars"]}), "$.steps[0].args.a[0]", "does not close it"),
        (with_step(args={"a": "{{ output.key }}"}), "$.steps[0].args.a", "what can be read is input, vars, steps, run"),
        (with_step(args={"a": "{{ steps.page.output }}"}), "$.steps[0].args.a", "a step that is not there"),
        (with_step(args={"a": "{{ steps.issue.key }}"}), "$.steps[0].args.a", "of a step there is"),
        (with_step(args={"a": {"$expr": "run.secret"}}), "$.steps[0].args.a", "of the run there is"),
        (with_step(args={"a": {"$expr": "input.a", "b": 1}}), "$.steps[0].args.a", "stands alone"),
        (with_step(compensate={"tool": "x", "args": {"k": "{{ steps.isue.output }}"}}), "$.steps[0].compensate.args.k", "not there"),
        (with_step(compensate={"args": {}}), "$.steps[0].compensate", "'tool' is a required property"),
        ({"steps": [ISSUE, ISSUE]}, "$.steps[1].id", "the id of an earlier step"),
        ({"steps": [{**ISSUE, "next": "end"}, {**ISSUE, "id": "page"}]}, "$.steps[1]", "no step leads to 'page'"),
        (branch({"when": "input.a", "next": "zz"}), "$.steps[1].cases[0].next", "'zz' is no step"),
        (branch({"when": "map(&a, b)", "next": "end"}), "$.steps[1].cases[0].when", "not taken"),
        ({"steps": [{"id": "w", "type": "wait", "seconds": 1, "until": "x"}]}, "$.steps[0]", "exactly one of"),
        ({"steps": [ISSUE], "input": {"type": "text"}}, "$.input", "no JSON Schema"),
        ({"steps": [ISSUE], "output": "{{ steps.no.output }}"}, "$.output", "not there"),
        ({"steps": [ISSUE], "on_failure": {"handoff": "mail"}}, "$.on_failure.handoff", "not one of"),
        ({"steps": [{"id": "p", "type": "parallel", "branches": {"a": [{"id": "x", "type": "nope"}]}}]}, "$.steps[0].branches.a[0].type", "not one of"),
        ({"steps": [{"id": "p", "type": "parallel", "branches": {"a": [{**ISSUE, "next": "p"}]}}]}, "$.steps[0].branches.a[0].next", "'p' is no step"),
        ({"steps": [{"id": "p", "type": "parallel", "branches": {"a": [{**ISSUE, "id": "p"}]}}]}, "$.steps[0].branches.a[0].id", "the id of an earlier step"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_path(data: Any, path: str, said: str) -> None:
    with pytest.raises(DefinitionWrong) as refused:
        check_definition(data)
    assert [it for it in refused.value.errors if it["field"] == path and said in it["detail"]], (
        refused.value.errors
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["tool", "set", "end", "{{ input.a }}"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["steps", "id", "type", "args", "next", "cases", "when", "values", "$expr", "branches"]), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_anything_at_all_is_checked_or_refused(data: Any) -> None:
    refused: list[DefinitionWrong] = []
    try:
        check_definition(data)
    except DefinitionWrong as error:
        refused.append(error)
    assert all(it.errors for it in refused)
