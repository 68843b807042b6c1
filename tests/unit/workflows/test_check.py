"""A definition that is wrong anywhere is refused, with the JSON path, what was found and what was meant."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liyagent.workflows.check import check_definition, problems_of
from liyagent.workflows.errors import DefinitionWrong
from liyagent.workflows.shape import MOST_PROBLEMS

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
        (5, "$", "is 5; it wants an object"),
        ({}, "$", "has no 'steps'"),
        ({"steps": []}, "$.steps", "is a list of 0; it wants at least 1 of them"),
        ({"steps": "x" * 5000}, "$.steps", "it wants a list"),
        ({"steps": [5]}, "$.steps[0]", "is 5; it wants an object"),
        ({"steps": [{"id": "a"}]}, "$.steps[0]", "has no 'type'"),
        ({"steps": [{**ISSUE, "args": {"t": "x" * (300 << 10)}}]}, "$", "bytes long; a definition has at most 262144"),
        (with_step(id="my-step"), "$.steps[0].id", "is 'my-step'; it wants a letter or _"),
        (with_step(id="end"), "$.steps[0].id", "where a workflow ends"),
        (with_step(type="shell"), "$.steps[0].type", "is 'shell'; it wants one of tool, agent"),
        (with_step(retries=3), "$.steps[0].retries", "is not known here; known are id, type"),
        (with_step(**{"a b": 3}), '$.steps[0]["a b"]', "is not known here"),
        (with_step(args=5), "$.steps[0].args", "is 5; it wants an object"),
        (with_step(compensate={"tool": "x", "arg": {}}), "$.steps[0].compensate.arg", "known are server, tool, args"),
        (with_step(retry={"times": 11}), "$.steps[0].retry.times", "is 11; it wants at most 10"),
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
        (with_step(compensate={"args": {}}), "$.steps[0].compensate", "has no 'tool'; it wants tool"),
        ({"steps": [ISSUE, ISSUE]}, "$.steps[1].id", "the id of an earlier step"),
        ({"steps": [{**ISSUE, "next": "end"}, {**ISSUE, "id": "page"}]}, "$.steps[1]", "no step leads to 'page'"),
        (branch({"when": "input.a", "next": "zz"}), "$.steps[1].cases[0].next", "'zz' is no step"),
        (branch({"when": "map(&a, b)", "next": "end"}), "$.steps[1].cases[0].when", "not taken"),
        (branch({"when": "input.level == high", "next": "end"}), "$.steps[1].cases[0].when", "'high' reads 'high'; what can be read is input, vars, steps, run, and a text stands in quotes: 'high'"),
        (with_step(when="length(inputs.hosts) > `1` && input.x"), "$.steps[0].when", "'inputs.hosts' reads 'inputs'"),
        (with_step(when="!(steps.isue.output.key)"), "$.steps[0].when", "a step that is not there; those are issue"),
        (with_step(when="steps.issue.key[?a == 'b'] | [0]"), "$.steps[0].when", "of a step there is"),
        ({"steps": [{"id": "w", "type": "wait", "seconds": -1}]}, "$.steps[0].seconds", "it wants 0 up to those of a year"),
        ({"steps": [{"id": "w", "type": "wait", "until": "tomorrow"}]}, "$.steps[0].until", "it wants a time with its zone"),
        ({"steps": [{"id": "w", "type": "wait", "seconds": 1, "until": "x"}]}, "$.steps[0]", "exactly one of"),
        ({"steps": [ISSUE], "input": {"type": "text"}}, "$.input.type", "no JSON Schema"),
        ({"steps": [ISSUE], "input": {"properties": {"a": {"$ref": "http://127.0.0.1/x"}}}}, "$.input.properties.a.$ref", "a place in this schema"),
        ({"steps": [ISSUE], "input": {"items": {"$ref": "#/$defs/host"}}}, "$.input.items.$ref", "a place in this schema"),
        ({"steps": [ISSUE], "input": {"properties": {"pattern": {"pattern": "^(a+)+$"}}}}, "$.input.properties.pattern.pattern", "a regular expression would be run on whatever is sent"),
        ({"steps": [ISSUE], "input": {"$ref": "#"}}, "$.input", "leads to itself"),
        ({"steps": [ISSUE], "input": {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}}, "$.input.$defs.b", "leads to itself"),
        ({"steps": [ISSUE], "input": {"$defs": {f"s{n}": {"allOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(9)} | {"s9": {}}, "$ref": "#/$defs/s0"}}, "$.input", "more than 200 schemas for one value"),
        ({"steps": [ISSUE], "input": {"$id": "http://127.0.0.1/x"}}, "$.input.$id", "has no address"),
        ({"steps": [ISSUE], "output": "{{ steps.no.output }}"}, "$.output", "not there"),
        ({"steps": [ISSUE], "on_failure": {"handoff": "mail"}}, "$.on_failure.handoff", "is 'mail'; it wants one of approval, ticket, none"),
        ({"steps": [{"id": "p", "type": "parallel", "branches": {"a": [{"id": "x", "type": "nope"}]}}]}, "$.steps[0].branches.a[0].type", "is 'nope'; it wants one of"),
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


def test_what_a_workflow_may_say_of_its_failure_is_taken() -> None:
    for said in ({"handoff": "ticket"}, {"compensate": False}, {"on_stop": "keep"}):
        check_definition({"steps": [ISSUE], "on_failure": said})


def test_a_schema_of_an_input_may_lead_to_its_own_places() -> None:
    host = {"type": "object", "properties": {"next": {"$ref": "#/$defs/a~1host"}, "self": {"$ref": "#"}}}  # fmt: skip
    check_definition({"steps": [ISSUE], "input": {"$defs": {"a/host": host}, "items": {"$ref": "#/$defs/a~1host"}}})  # fmt: skip


def test_one_mistake_is_told_once_and_nothing_else_with_it() -> None:
    for data in (with_step(args=5), with_step(retries=3), {"steps": [{"id": "a"}]}, with_step(retry={"times": "3"})):  # fmt: skip
        assert len(problems_of(data)) == 1, problems_of(data)


def test_a_step_that_leads_nowhere_and_an_id_that_stands_twice_are_told_without_what_is_behind_them() -> (
    None
):
    rest = {"type": "wait", "seconds": 1}
    behind = [{**rest, "id": name} for name in ("b", "c", "d")]
    ((path, said),) = problems_of({"steps": [{**rest, "id": "a", "next": "bb"}, *behind]})
    assert path == "$.steps[0].next"
    assert "'bb' is no step" in said
    ((path, said),) = problems_of({"steps": [*behind, {**rest, "id": "b"}]})
    assert (path, said) == ("$.steps[3].id", "'b' is the id of an earlier step")


def test_what_is_wrong_is_told_in_the_order_of_the_definition() -> None:
    steps = [{**ISSUE, "id": f"s{number}", "args": 5} for number in range(12)]
    assert [path for path, _ in problems_of({"steps": steps})] == [f"$.steps[{number}].args" for number in range(12)]  # fmt: skip


def test_many_mistakes_are_told_in_bounds() -> None:
    many = problems_of({"steps": [{"id": 5, "type": 5}] * 500})
    assert len(many) == MOST_PROBLEMS
    with pytest.raises(DefinitionWrong) as refused:
        check_definition({"steps": [{"id": 5, "type": 5}] * 500})
    assert len(refused.value.errors) == 20
    assert "200 in all" in str(refused.value)
    far = problems_of({"steps": [{**ISSUE, "id": f"s{n}", "next": "nowhere"} for n in range(400)]})
    assert max(len(said) for _, said in far) < 1000


def test_parallel_within_parallel_costs_no_more_than_it_is_long() -> None:
    steps: list[dict[str, Any]] = [{**ISSUE, "id": "deep"}]
    for number in range(20):
        steps = [{"id": f"p{number}", "type": "parallel", "branches": {"a": steps}}]
    ((path, said),) = problems_of({"steps": steps})
    assert path == f"$.steps{'[0].branches.a' * 3}[0].branches"
    assert "4 deep; 3 are taken" in said
    wide = {"id": "p", "type": "parallel", "branches": {f"b{n}": [{**ISSUE, "id": f"s{m}"} for m in range(60)] for n in range(20)}}  # fmt: skip
    assert problems_of({"steps": [wide]}) == [
        ("$.steps", "are 1201 with those of all branches; 1000 are taken")
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["tool", "set", "end", "{{ input.a }}"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["steps", "id", "type", "args", "next", "cases", "when", "values", "$expr", "branches"]), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@pytest.mark.parametrize(
    "when",
    ["input", "input.hosts[?name == 'a'].x | [0]", "steps.issue.output.list[*].anything", "contains(vars.names, run.id)", "length(steps) > `1`", "input.a.b.c || !vars.x && @"],
)  # fmt: skip
def test_a_condition_reads_what_it_can(when: str) -> None:
    check_definition(with_step(when=when))


def test_a_wait_that_is_filled_in_is_judged_then() -> None:
    for step in ({"seconds": "{{ input.s }}"}, {"until": {"$expr": "input.t"}}, {"signal": "go {{ run.id }}"}):  # fmt: skip
        check_definition({"steps": [{"id": "w", "type": "wait", **step}]})


@given(JSON)
def test_anything_at_all_is_checked_or_refused(data: Any) -> None:
    refused: list[DefinitionWrong] = []
    try:
        check_definition(data)
    except DefinitionWrong as error:
        refused.append(error)
    assert all(it.errors for it in refused)
