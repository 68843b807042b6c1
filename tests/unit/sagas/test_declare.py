"""An undo is declared before its write leaves and resolved from what came back: one filling, over values of that time."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liyagent.core.errors import LiyagentError
from liyagent.core.plain import json_bytes, to_plain
from liyagent.core.templates import paths_of, render
from sagas.declare import MOST_BYTES, Declared, Resolved, declare, resolve

OWN = "steps.issue.output"
SCOPE: dict[str, Any] = {
    "input": {"title": "Disk full", "count": 3, "list": [1, "1", True, None]},
    "vars": {},
    "steps": {"issue": {"output": {"key": "OLD-1"}, "attempts": 4}, "page": {"output": {"id": 7}}},
    "run": {"id": "r", "mission": "m", "agent": "a"},
}


def declared(args: Any, *, own: str = OWN, scope: Any = SCOPE, **undo: Any) -> Declared:
    return declare({"tool": "delete", "args": args, **undo}, server="jira", own=own, scope=scope)


@pytest.mark.promise("SG-01")
def test_the_own_output_comes_from_the_result_and_all_else_from_before() -> None:
    args = {
        "key": {"$expr": "steps.issue.output.key"},
        "why": "{{ input.title }}: {{ steps.issue.output.key }}",
        "n": "{{ input.count }}",
    }
    undo = declared(args)
    assert (undo.server, undo.tool, undo.missing) == ("jira", "delete", "")
    assert undo.known == {"input.title": "Disk full", "input.count": 3}
    assert resolve(undo, {"key": "OPS-7"}) == Resolved(
        server="jira", tool="delete", args={"key": "OPS-7", "why": "Disk full: OPS-7", "n": 3}
    )


@pytest.mark.promise("SG-02")
def test_an_agents_map_reads_the_args_and_the_result() -> None:
    undo = declared(
        {"key": "{{ result.key }}", "in": "{{ args.project }}"},
        own="result",
        scope={"args": {"project": "OPS"}},
    )
    assert resolve(undo, {"key": "OPS-7"}).args == {"key": "OPS-7", "in": "OPS"}
    assert resolve(declared({"all": "{{ result }}"}, own="result"), [1, "1"]).args == {"all": [1, "1"]}  # fmt: skip


@pytest.mark.promise("SG-03")
def test_what_changes_after_the_declaration_changes_no_undo() -> None:
    scope: dict[str, Any] = {"args": {"tags": ["a"], "by": {"name": "Ann"}}}
    template: dict[str, Any] = {
        "tags": "{{ args.tags }}",
        "by": "{{ args.by }}",
        "fixed": ["{{ result }}"],
    }
    undo = declared(template, own="result", scope=scope)
    scope["args"]["tags"].append("b")
    scope["args"]["by"] = "Bob"
    template["fixed"].append("more")
    assert resolve(undo, 1).args == {"tags": ["a"], "by": {"name": "Ann"}, "fixed": [1]}


HOSTILE = ["{{ result.key }}", "{{result}}", "{{", "}}{{ args.x }}", '{"$expr": "result.key"}', "{{ args.known }}"]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_that_looks_like_a_template_stays_the_text_it_is(text: str) -> None:
    scope = {"args": {"x": text, "y": {"$expr": "result.key"}, "known": "known"}}
    template = {
        "lone": "{{ args.x }}",
        "within": "<{{ args.x }}>",
        "expr": {"$expr": "args.y"},
        "answered": "{{ result.told }}",
        "key": "{{ result.key }}",
    }
    undo = declared(template, own="result", scope=scope)
    assert resolve(undo, {"key": "SECRET", "told": text}).args == {
        "lone": text,
        "within": f"<{text}>",
        "expr": {"$expr": "result.key"},
        "answered": text,
        "key": "SECRET",
    }


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from([*HOSTILE, "1", "true", "null"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "0", "$expr"]), inner, max_size=3)
    ),
    max_leaves=8,
)
PATHS = st.sampled_from(
    ["args", "args.a", "args.b.0", "args.a.b", "result", "result.a", "result.0", "result.b.a", "resulting", "nothing.x"]
)  # fmt: skip
LEAVES = (
    PATHS.map(lambda path: {"$expr": path})
    | PATHS.map(lambda path: f"{{{{ {path} }}}}")
    | st.tuples(PATHS, PATHS).map(lambda two: f"x {{{{{two[0]}}}}} y{{{{ {two[1]} }}}}")
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from(["1", "true", "plain", "{ a } $expr"])
)
TEMPLATES = st.dictionaries(
    st.sampled_from(["p", "q", "{{ args }}"]),
    st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3), max_leaves=4),
    max_size=3,
)


@pytest.mark.promise("SG-03")
@settings(deadline=None, max_examples=400)
@given(args=JSON, result=JSON, template=TEMPLATES)
def test_declared_and_resolved_is_one_filling_of_the_whole(
    args: Any, result: Any, template: dict[str, Any]
) -> None:
    known = {"args": args, "resulting": "another root"}
    undo = declared(template, own="result", scope=known)
    sent = resolve(Declared.from_json(json.loads(json_bytes(undo.as_json()))), result)
    try:
        whole = to_plain(render(template, {**known, "result": result}))
    except LiyagentError:
        assert sent.missing
        assert sent.args == {}
    else:
        # As JSON, so that 1, true and "1" are three.
        assert (sent.missing, json_bytes(sent.args)) == ("", json_bytes(whole))
    is_read = any(it == "result" or it.startswith("result.") for it in paths_of(template))
    unknown = resolve(undo, None, is_known=False)
    assert bool(unknown.missing) == (is_read or bool(undo.missing))
    if not unknown.missing:
        assert json_bytes(unknown.args) == json_bytes(sent.args)


@settings(deadline=None, max_examples=200)
@given(undo=JSON | st.dictionaries(st.sampled_from(["tool", "server", "args", "x"]), JSON), result=JSON)  # fmt: skip
def test_whatever_is_declared_nothing_is_raised(undo: Any, result: Any) -> None:
    told = declare(undo, server="jira", own="result", scope={"args": {}})
    sent = resolve(told, result)
    assert 1 <= len(told.server) <= 80
    assert len(told.tool) <= 200
    assert bool(sent.tool) or sent.missing
    assert Declared.from_json(json.loads(json.dumps(told.as_json()))) == told


@pytest.mark.parametrize(
    ("undo", "at", "tool"),
    [
        ({"tool": "delete"}, "jira", "delete"),
        ({"tool": "mail/unsend"}, "mail", "unsend"),
        ({"tool": "mail/a/b"}, "mail", "a/b"),
        ({"tool": "a/b", "server": "mail"}, "mail", "a/b"),
        ({"tool": "delete", "server": ""}, "jira", "delete"),
    ],
)
def test_the_server_is_that_of_the_write_unless_another_is_named(
    undo: dict[str, Any], at: str, tool: str
) -> None:
    told = declare(undo, server="jira", own="result", scope={})
    assert (told.server, told.tool, told.args, told.missing) == (at, tool, {}, "")


@pytest.mark.parametrize(
    ("undo", "said"),
    [
        ({"tool": "delete", "args": {"k": "{{ input.titel }}"}}, "'input.titel' leads nowhere at 'titel': there is an object with count, list, title"),
        ({"tool": "delete", "args": {"k": {"$expr": "inptu.title"}}}, "'inptu.title' leads nowhere at 'inptu'"),
        ({"tool": "delete", "args": {"k": "{{ steps.page.output.key }}"}}, "at 'key': there is an object with id"),
        ({"tool": "delete", "args": {"k": ["{{ steps.issue.attempts }}"]}}, "reads 'steps.issue.output' and what is below"),
        ({"tool": "delete", "args": {"k": "{{ steps.issue }}"}}, "reads 'steps.issue.output'"),
        ({"tool": "delete", "args": {"k": "{{ steps }}"}}, "reads 'steps.issue.output'"),
        ({"tool": "delete", "args": {"k": "{{ steps.issue.output.key }"}}, "$.k: '{{ steps.issue.output.key }' opens a template and does not close it"),
        ({"tool": "delete", "args": {"k": {"$expr": "input", "more": 1}}}, "stand alone"),
        ({"tool": "delete", "args": {"k": "{{ a..b }}"}}, "'a..b' is no dotted path"),
        ({"tool": "delete", "args": [1]}, "args of the undo is list"),
        ({"tool": "delete", "arg": {}}, "the undo has 'arg'"),
        ({"tool": ""}, "tool of the undo wants text of 1 to 200 characters"),
        ({"tool": 3}, "tool of the undo"),
        ({"tool": "x" * 201}, "tool of the undo"),
        ({"tool": "x\x00"}, "tool of the undo"),
        ({"tool": "x", "server": "s" * 81}, "server of the undo wants text of 1 to 80 characters"),
        ({}, "tool of the undo"),
        ("delete", "the undo is str"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_at_once(undo: Any, said: str) -> None:
    told = declare(undo, server="jira", own=OWN, scope=SCOPE)
    assert said in told.missing
    assert (told.args, told.known) == ({}, {})
    assert resolve(told, {"key": "OPS-7"}) == Resolved(
        server=told.server, tool=told.tool, missing=told.missing
    )


@pytest.mark.parametrize("result", [{"kye": 1}, {}, None, "key", [1]])
def test_a_result_without_the_key_makes_the_undo_missing_by_its_name(result: Any) -> None:
    sent = resolve(declared({"k": {"$expr": "steps.issue.output.key"}}), result)
    assert "'steps.issue.output.key' leads nowhere at 'key'" in sent.missing
    assert sent.args == {}


def test_where_the_result_is_unknown_only_what_reads_it_is_missing() -> None:
    sent = resolve(declared({"k": "{{ steps.issue.output.key }}"}), None, is_known=False)
    assert sent.missing == "'steps.issue.output.key' cannot be read: what the write returned is not known"  # fmt: skip
    assert resolve(declared({"t": "{{ input.title }}"}), None, is_known=False).args == {
        "t": "Disk full"
    }


def test_the_earlier_output_of_a_step_in_a_loop_is_never_taken_for_this_one() -> None:
    undo = declared({"k": "{{ steps.issue.output.key }}"})
    assert undo.known == {}
    assert resolve(undo, {"key": "NEW-2"}).args == {"k": "NEW-2"}


def test_arguments_that_come_out_as_no_object_are_missing() -> None:
    undo = declared({"$expr": "steps.issue.output.undo"})
    assert resolve(undo, {"undo": {"id": 1}}).args == {"id": 1}
    assert "args of the undo would be list" in resolve(undo, {"undo": [1]}).missing


def test_sizes_are_bounded_and_told() -> None:
    half = "x" * (MOST_BYTES // 2 + 1)
    scope = {"args": {"a": half, "b": half, "deep": _deep(99)}}
    assert declared({"a": "{{ args.a }}"}, own="result", scope=scope).missing == ""
    both = declared({"a": "{{ args.a }}", "b": "{{ args.b }}"}, own="result", scope=scope)
    assert both.missing == f"what the undo reads is larger than {MOST_BYTES} bytes"
    assert resolve(declared({"a": ["{{ result }}"] * 3}, own="result"), half).missing == (
        f"args of the undo would be larger than {MOST_BYTES} bytes"
    )
    whole = declared({"a": half, "b": "{{ args.b }}"}, own="result", scope=scope)
    assert whole.missing == f"the undo with what it reads is larger than {MOST_BYTES} bytes"
    deep = declared({"a": [["{{ args.deep }}"]]}, own="result", scope=scope)
    assert "nested deeper" in resolve(deep, 1).missing
    assert "nested deeper" in declared(_deep(101), own="result").missing


def test_a_small_template_makes_no_huge_value() -> None:
    begun = time.monotonic()
    undo = declared({"a": ["x{{ result }}"] * 40}, own="result")
    assert "the filled texts would be longer than" in resolve(undo, "y" * 1_000_000).missing
    names = {f"{'n' * 100_000}{number}": 1 for number in range(20)}
    assert len(resolve(declared({"a": "{{ result.z }}"}, own="result"), names).missing) <= 500
    assert time.monotonic() - begun < 10


def _deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"d": value}
    return value
