"""Random runs of one pattern, and how a compiled routine is carried out over a run: by the templates alone, not by its score."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from liyagent.core.templates import as_data, render
from routines.compiled import Compiled
from routines.definition import AGENTS, TASK
from routines.recorded import RecordedCall, RecordedRun

# What looks like a template, JMESPath, or one another: each is plain data.
TRICKY = (
    "{{ input.task }}", "{{input.task}} and more", "{{", "}}", "{", "{{{ x }}}", "{{ vars.brace }}", "$expr", "steps.s1.output.id",
    "@", "`1`", "1", "true", "null", "1.0", "", " ", "{}", "[]", '{"a": 1}', "{{ run.done }}", "{{}}", "a{b}c", "{{{{", "\\u007b{",
)  # fmt: skip
NAMES = (
    "id", "user_id", "name", "a", "a.b", "", "0", "1", "$expr", "größe", "with space", "{{x}}", "k" * 120, "user", "items", "Ümlaut.ß",
    "task", "😀", "password", "state",
)  # fmt: skip
# What the database keeps has neither U+0000 nor half a pair.
LETTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\x00")
SCALARS = st.one_of(
    st.sampled_from((None, True, False, 0, 1, 2, -1, 1.0, 5, 5.0, -0.0, 0.5, "1", "true", 7, 12, 2**53 + 1, 10**30, 1e21, 1e300, 1e-7)),
    st.sampled_from(TRICKY),
    st.integers(min_value=-(2**70), max_value=2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(LETTERS, max_size=12),
    st.sampled_from(("INC-1001", "INC-1002", "payments", "open", "mail-eu")),
)  # fmt: skip
# Each of a row equals another in Python, or is read as it somewhere.
ALIKE = (
    (1, True, "1", 1.0, "true"), (0, False, -0.0, "0", ""), ([], {}, None, "[]", "null"), (1e21, 10**21, "1e21"), (2**53, 2.0**53),
    ([1], [True], ["1"], {"0": 1}), ("a", "A", ["a"], {"a": "a"}),
)  # fmt: skip
KEYS = st.one_of(st.sampled_from(NAMES), st.text(LETTERS, max_size=6))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)

OUTPUTS = st.one_of(
    VALUES,
    st.fixed_dictionaries(
        {"id": st.sampled_from(ALIKE[0] + ALIKE[1]), "user": st.sampled_from(ALIKE[2] + ALIKE[5])},
        optional={"name": VALUES, "state": st.sampled_from(ALIKE[6])},
    ),
)


@st.composite
def patterns(draw: st.DrawFn) -> list[RecordedRun]:
    """Runs of one pattern: what they pass is the same in each, taken from what came back before, of the task, or anybody's guess."""
    number = draw(st.integers(1, 5))
    tasks = draw(
        st.lists(st.sampled_from(("task one", "{{ x }}", "INC-1001", "")), min_size=number, max_size=number)
    )  # fmt: skip
    count = draw(st.integers(1, 4))
    made: list[list[RecordedCall]] = [[] for _ in range(number)]
    for place in range(count):
        is_agent = draw(st.integers(0, 9)) == 0
        shape = draw(_shapes(place))
        for run in range(number):
            args = (
                {TASK: str(draw(SCALARS)) or "do"}
                if is_agent
                else _of(draw, shape, run, tasks, made)
            )
            args = args if isinstance(args, dict) else {"value": args}
            made[run].append(
                RecordedCall(
                    server=AGENTS if is_agent else "desk",
                    tool="writer" if is_agent else f"tool_{place}",
                    args=args,
                    output=_told(draw, draw(OUTPUTS)),
                )
            )
    return [
        RecordedRun(id=f"run-{it:03}", task=tasks[it], calls=tuple(made[it]))
        for it in range(number)
    ]


# How the arguments of one place in the pattern come about in every run.
Shape = tuple[Any, ...]


@st.composite
def _shapes(draw: st.DrawFn, place: int) -> Shape:
    names = draw(st.lists(KEYS, min_size=0, max_size=4, unique=True))
    return ("object", tuple((it, draw(_shape_of(place, 2))) for it in names))


@st.composite
def _shape_of(draw: st.DrawFn, place: int, depth: int) -> Shape:
    kinds = ["constant", "constant", "any", "task", "pool", "alike"]
    kinds += ["read", "read", "read"] if place else []
    kinds += ["object", "list"] if depth else []
    kind = draw(st.sampled_from(kinds))
    if kind == "constant":
        return (kind, draw(VALUES))
    if kind == "pool":
        return (kind, draw(st.lists(VALUES, min_size=1, max_size=2)))
    if kind == "alike":
        return ("pool", draw(st.sampled_from(ALIKE)))
    if kind == "read":
        return (kind, draw(st.integers(0, place - 1)), draw(st.integers(0, 7)))
    if kind == "object":
        names = draw(st.lists(KEYS, max_size=3, unique=True))
        is_missing = draw(st.booleans())
        return (kind, tuple((it, draw(_shape_of(place, depth - 1))) for it in names), is_missing)
    if kind == "list":
        return (kind, tuple(draw(_shape_of(place, depth - 1)) for _ in range(draw(st.integers(0, 3)))))  # fmt: skip
    return (kind,)


def _of(
    draw: st.DrawFn,
    shape: Shape,
    run: int,
    tasks: Sequence[str],
    made: Sequence[Sequence[RecordedCall]],
) -> Any:
    kind, *rest = shape
    if kind == "constant":
        return rest[0]
    if kind == "any":
        return draw(VALUES)
    if kind == "task":
        return tasks[run]
    if kind == "pool":
        return draw(st.sampled_from(rest[0]))
    if kind == "read":
        found = [*_within(as_data(made[run][rest[0]].output))]
        return found[rest[1] % len(found)]
    if kind == "object":
        names = rest[0]
        if len(rest) > 1 and rest[1] and draw(st.booleans()):
            names = names[1:]
        return {name: _of(draw, it, run, tasks, made) for name, it in names}
    return [_of(draw, it, run, tasks, made) for it in rest[0]]


def _within(value: Any) -> list[Any]:
    found = [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for it in parts:
        found += _within(it)
    return found


def _told(draw: st.DrawFn, value: Any) -> Any:
    """Many servers tell their records as text alone."""
    return json.dumps(value, ensure_ascii=draw(st.booleans())) if draw(st.booleans()) else value


def carried_out(compiled: Compiled, run: RecordedRun) -> list[Any]:
    """Return the arguments that each step of a routine would give, with the run's input and its recorded outputs."""
    given = given_by(compiled, run)
    scope: dict[str, Any] = {"input": given, "vars": {}, "steps": {}, "run": {}}
    calls = iter(run.calls)
    made = []
    for step in compiled.definition["steps"]:
        if step["type"] == "set":
            scope["vars"].update(render(step["values"], scope))
        elif step["id"] != "ask":
            args = step["args"] if step["type"] == "tool" else {TASK: step["task"]}
            made.append(render(args, scope))
            scope["steps"][step["id"]] = {"output": as_data(next(calls).output)}
    return made


def given_by(compiled: Compiled, run: RecordedRun) -> dict[str, Any]:
    """Return the input with which the routine is to do what the run did."""
    given: dict[str, Any] = {TASK: run.task}
    for parameter in compiled.parameters:
        given[parameter.name] = at(run, parameter.places[0])
    return given


def at(run: RecordedRun, place: str) -> Any:
    """Return what a run had at a JSON pointer."""
    step, *names = [it.replace("~1", "/").replace("~0", "~") for it in place.split("/")[1:]]
    found: Any = run.calls[int(step[1:]) - 1].args
    for name in names:
        found = found[int(name)] if isinstance(found, list) else found[name]
    return found


def all_of(compiled: Compiled) -> str:
    """Return everything that a compiled routine holds, as text."""
    return json.dumps(asdict(compiled), ensure_ascii=False, default=str)


def as_the_database_keeps(value: Any) -> Any:
    """Return plain JSON as jsonb gives it back: a number by its digits, whatever it was written like."""
    if isinstance(value, Mapping):
        return {name: as_the_database_keeps(it) for name, it in value.items()}
    if isinstance(value, list):
        return [as_the_database_keeps(it) for it in value]
    if isinstance(value, float):
        return json.loads(format(Decimal(repr(value)), "f"))
    return value
