"""Whatever a definition says that was taken, and whatever comes of its steps: its course ends, and nothing breaks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liyagent.core.plain import json_bytes, to_plain
from liyagent.gateway.outcome import Fate, Outcome
from liyagent.workflows.check import problems_of
from liyagent.workflows.context import context_of
from liyagent.workflows.course import MOST_BYTES, Ask, Came, Course, Over
from liyagent.workflows.kept import message_of, result_of
from liyagent.workflows.steps import definition_of
from runs.ending import Ending
from runs.endings import EndError
from runs.models import RunStatus

RUN = {"id": "r-1", "mission": "m-1", "agent": "desk"}
MANY = 10**400
AGAIN = {"id": "again", "type": "branch", "cases": [{"when": "`true`", "next": "more"}]}


def course(data: dict[str, Any], given: Any = None) -> Course:
    assert problems_of(data) == []
    return Course(definition=definition_of(data), input=given or {}, run=RUN)


@pytest.mark.parametrize("times", [2, 1], ids=["twice_as_much", "deeper_and_deeper"])
def test_a_loop_that_makes_more_of_what_it_holds_fails_and_takes_no_process_along(
    times: int,
) -> None:
    more = {"id": "more", "type": "set", "values": {"x": [{"$expr": "vars.x"}] * times}}
    first = {"id": "first", "type": "set", "values": {"x": ["a word"]}}
    it = course({"steps": [first, more, AGAIN], "max_steps": 1000})
    over = it.next()
    assert isinstance(over, Over)
    assert (over.step, over.came) == ("more", Came.FAILED)
    assert "cannot be kept" in over.error
    assert len(json_bytes(it.vars)) <= MOST_BYTES


@pytest.mark.parametrize(
    "step",
    [
        {"type": "wait", "seconds": {"$expr": "input.many"}},
        {"type": "branch", "cases": [{"when": "ceil(to_number(input.inf)) > `1`", "next": "end"}]},
        {"type": "tool", "server": "v", "tool": "t", "when": "floor(to_number('1e999')) > `1`"},
    ],
    ids=["wait", "case", "when"],
)
def test_a_number_beyond_all_bounds_fails_its_step(step: dict[str, Any]) -> None:
    over = course({"steps": [{"id": "a", **step}]}, {"many": MANY, "inf": "Infinity"}).next()
    assert isinstance(over, Over)
    assert (over.step, over.came) == ("a", Came.FAILED)


NAMES = ("a", "b", "c", "d")
PATHS = st.sampled_from(
    [
        *("input", "input.x", "input.x.0", "input.many", "vars", "vars.v", "vars.v.0", "run.id"),
        *(f"steps.{name}.{part}" for name in NAMES for part in ("output", "output.x", "error")),
    ]
)
READS = PATHS.map(lambda it: {"$expr": it}) | PATHS.map(lambda it: f"{{{{ {it} }}}}")
VALUES = st.recursive(
    READS | st.integers() | st.floats() | st.text(max_size=3) | st.none() | st.just(MANY),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("vxy"), inner),
    max_leaves=5,
).map(to_plain)
TEXTS = PATHS.map(lambda it: f"so {{{{ {it} }}}}") | st.just("so")
CONDITIONS = st.builds(
    "{}({})".format,
    st.sampled_from(
        ["abs", "ceil", "floor", "keys", "length", "max", "not_null", "to_number", "type"]
    ),
    PATHS | st.sampled_from(["to_number(input.inf)", "to_number(input.many)", "`1e999`", "@"]),
) | st.sampled_from(["input.x[::0]", "vars.v[99999999999999999999]", "input.x > vars.v", "`0`"])
TARGETS = st.sampled_from([*NAMES, "end"])
COMMON: dict[str, Any] = {
    "when": CONDITIONS,
    "on_error": TARGETS,
    "fallback": VALUES,
    "retry": st.fixed_dictionaries(
        {"times": st.integers(0, 3)}, optional={"backoff_seconds": st.floats(0, 3600)}
    ),
    "timeout": st.floats(0.1, 3600),
    "next": TARGETS,
}
BODIES: dict[str, dict[str, Any]] = {
    "tool": {"server": st.just("v"), "tool": st.just("t"), "args": st.dictionaries(st.sampled_from("xy"), VALUES)},
    "agent": {"agent": st.just("sub"), "task": TEXTS},
    "set": {"values": st.dictionaries(st.sampled_from("vw"), VALUES, min_size=1)},
    "branch": {"cases": st.lists(st.fixed_dictionaries({"when": CONDITIONS, "next": TARGETS}), min_size=1, max_size=3)},
    "approve": {"question": TEXTS},
    "seconds": {"seconds": READS | st.floats(0, 9)},
    "until": {"until": READS},
    "signal": {"signal": TEXTS},
}  # fmt: skip


def steps_of(name: str) -> st.SearchStrategy[dict[str, Any]]:
    kinds = []
    for kind, body in BODIES.items():
        kept = {"id": st.just(name), "type": st.just("wait" if kind in COMMON or kind in {"seconds", "until", "signal"} else kind)}  # fmt: skip
        more = {it: one for it, one in COMMON.items() if (kind, it) != ("branch", "next")}
        kinds.append(st.fixed_dictionaries({**kept, **body}, optional=more))
    return st.one_of(kinds)


DEFINITIONS = st.fixed_dictionaries(
    {"steps": st.tuples(*map(steps_of, NAMES)).map(list), "max_steps": st.integers(1, 30)},
    optional={"output": VALUES},
).filter(lambda it: not problems_of(it))
OUTCOMES = st.builds(
    Outcome,
    fate=st.sampled_from(Fate),
    result=VALUES
    | st.sampled_from(['{"x": [1, 2]}', "[" * 99 + "]" * 99, '{"x": 1e999}', '{"x": NaN}', "{"]),
    error=st.text(max_size=5).map(to_plain),
)


@given(
    DEFINITIONS, st.fixed_dictionaries({"x": VALUES}), st.lists(OUTCOMES, min_size=1, max_size=8)
)
def test_it_ends_within_its_cap_and_whoever_goes_through_it_anew_stands_where_the_other_stood(
    data: dict[str, Any], given: dict[str, Any], outcomes: list[Outcome]
) -> None:
    given = {**given, "many": MANY, "inf": "Infinity"}
    first, second = course(data, given), course(data, given)
    for number in range(4 * data["max_steps"] + 1):
        asked = first.next()
        assert asked == first.next() == second.next()
        if isinstance(asked, Over):
            break
        assert isinstance(asked, Ask)
        json_bytes(dict(asked.body))
        text = message_of("call", outcomes[number % len(outcomes)]).text
        first.took(result_of(text))
        second.took(result_of(text))
    else:
        raise AssertionError("it does not end")
    assert first.executed <= data["max_steps"]
    ending = Ending(status=RunStatus.FAILED, reason="", error=EndError.WORKFLOW_STEP, step="")
    json_bytes(context_of(first, {"key": "k", "version": 1}, ending))
