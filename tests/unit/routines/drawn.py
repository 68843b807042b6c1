"""Random runs of one pattern, and how a compiled routine is carried out over a run: by the templates alone, not by its score."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from random import Random
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
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
SCALARS = st.one_of(
    st.sampled_from((None, True, False, 0, 1, 2, -1, 1.0, 5, 5.0, -0.0, 0.5, "1", "true", 7, 12, 2**53 + 1, 10**30, 1e21, 1e300, 1e-7)),
    st.sampled_from(TRICKY),
    st.integers(min_value=-(2**70), max_value=2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(LETTERS, max_size=12),
    st.sampled_from(("INC-1001", "INC-1002", "payments", "open", "mail-eu")),
)  # fmt: skip
# Each of a row equals another in Python, or is read as it somewhere.
ALIKE: tuple[tuple[Any, ...], ...] = (
    (1, True, "1", 1.0, "true"), (0, False, -0.0, "0", ""), ([], {}, None, "[]", "null"), (1e21, 10**21, "1e21"), (2**53, 2.0**53),
    ([1], [True], ["1"], {"0": 1}), ("a", "A", ["a"], {"a": "a"}),
)  # fmt: skip
KEYS = st.one_of(st.sampled_from(NAMES), st.text(LETTERS, max_size=6))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)


# How the value of one place comes about in every run.
Shape = tuple[Any, ...]


@st.composite
def patterns(draw: st.DrawFn) -> list[RecordedRun]:
    """Runs of one pattern: what they pass is the same in each, taken from what came back before, of the task, or anybody's guess."""
    # Structure by chance alone: drawn, it would mostly be small.
    chance = draw(st.randoms(use_true_random=True))
    number = chance.choice((1, 2, 2, 3, 3, 4, 5))
    tasks = [chance.choice(("task one", "{{ x }}", "INC-1001", "")) for _ in range(number)]
    table = _Table(draw=draw, chance=chance, tasks=tasks, made=[[] for _ in range(number)])
    for place in range(chance.choice((1, 2, 2, 3, 3, 4))):
        table.add_call(place)
    return [
        RecordedRun(id=f"run-{run:03}", task=tasks[run], calls=tuple(made))
        for run, made in enumerate(table.made)
    ]


@dataclass(slots=True, kw_only=True)
class _Table:
    draw: st.DrawFn
    chance: Random
    tasks: list[str]
    made: list[list[RecordedCall]]

    def add_call(self, place: int) -> None:
        is_agent = self.chance.random() < 0.1
        given = ("object", self._members(place, 2), False)
        answer = self._shape(place, 3) if self.chance.random() < 0.2 else ("object", self._members(place, 2), False)  # fmt: skip
        is_text = self.chance.choice((None, False, True))
        for run, calls in enumerate(self.made):
            args = {TASK: str(self.draw(SCALARS)) or "do"} if is_agent else self._of(given, run)
            call = RecordedCall(
                server=AGENTS if is_agent else "desk",
                tool="writer" if is_agent else f"tool_{place}",
                args=args,
                output=self._told(self._of(answer, run), is_text=is_text),
            )
            calls.append(call)

    def _members(self, place: int, depth: int) -> Shape:
        names = {self.draw(KEYS) for _ in range(self.chance.randint(0, 4))}
        return tuple((it, self._shape(place, depth)) for it in sorted(names))

    def _shape(self, place: int, depth: int) -> Shape:
        chance = self.chance
        kinds = ["constant", "constant", "any", "task", "pool", "alike", "alike", "reference"]
        kinds += ["read"] * 4 if place else []
        kinds += ["object", "object", "list"] if depth else []
        kind = chance.choice(kinds)
        if kind == "constant":
            return (kind, self.draw(VALUES))
        if kind == "pool":
            return (kind, [self.draw(VALUES), self.draw(VALUES)])
        if kind == "alike":
            return ("pool", chance.choice(ALIKE))
        if kind == "reference":
            return (kind, chance.randint(0, 2))
        if kind == "read":
            return (kind, chance.randint(0, place - 1), chance.randint(0, 9))
        if kind == "object":
            return (kind, self._members(place, depth - 1), chance.random() < 0.2)
        if kind == "list":
            return (kind, [self._shape(place, depth - 1) for _ in range(chance.randint(0, 3))])
        return (kind,)

    def _of(self, shape: Shape, run: int) -> Any:
        kind, *rest = shape
        if kind == "constant":
            return rest[0]
        if kind == "any":
            return self.draw(VALUES)
        if kind == "task":
            return self.tasks[run]
        if kind == "pool":
            return self.chance.choice(rest[0])
        if kind == "reference":
            return f"REF-{run}-{rest[0]}"
        if kind == "read":
            found = _within(as_data(self.made[run][rest[0]].output))
            return found[rest[1] % len(found)]
        if kind == "object":
            is_less = rest[1] and self.chance.random() < 0.5
            return {name: self._of(it, run) for name, it in rest[0][is_less:]}
        return [self._of(it, run) for it in rest[0]]

    def _told(self, value: Any, *, is_text: bool | None) -> Any:
        """Many servers tell their records as text alone; `is_text` None: now so, now so."""
        is_text = self.chance.random() < 0.5 if is_text is None else is_text
        return json.dumps(value, ensure_ascii=self.chance.random() < 0.5) if is_text else value


def _within(value: Any) -> list[Any]:
    found = [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for it in parts:
        found += _within(it)
    return found


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
