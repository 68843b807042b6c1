"""How a compiled routine does against recorded runs: the real course of a workflow, with what the runs recorded as the world. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jsonschema import Draft202012Validator

from liyagent.core.json_path import json_path
from liyagent.core.templates import readings_of
from liyagent.workflows.course import Ask, Came, Course, Result
from liyagent.workflows.steps import Definition, Step, definition_of
from routines.compiled import Place
from routines.definition import AGENTS, ASK, LONGEST_TASK, TASK
from routines.recorded import RecordedRun
from routines.secrets import Looking
from routines.values import NOTHING, data_of, same

MOST_MISMATCHES = 50
# Of all texts that are read; the runs that are left are not scored.
MOST_TEXT = 48 << 20
INPUT = "input."


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """Where a routine would not have done what a run did. `shown` is the place in the step's arguments, "" of the step itself."""

    run: str
    step: str
    shown: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Of `runs`, how many the routine would have done call by call, and of their `calls` how many.

    `mismatches` are the first of `mismatched`; `left_out` runs were not looked at, because it would have been too much.
    """

    runs: int
    runs_matched: int
    calls: int
    calls_matched: int
    mismatched: int
    mismatches: tuple[Mismatch, ...]
    left_out: int

    def plain(self) -> dict[str, Any]:
        """Return it as JSON. It holds no value of a run."""
        return {**asdict(self), "mismatches": [asdict(it) for it in self.mismatches]}


def score(definition: Mapping[str, Any], runs: Sequence[RecordedRun]) -> Score:
    """Return how a routine's definition does against runs of its pattern, each with the input that it would have been given."""
    scoring = _Scoring(definition)
    left, scored, matched, calls, calls_matched = MOST_TEXT, 0, 0, 0, 0
    told: list[Mismatch] = []
    count = 0
    for run in runs:
        left -= scoring.weight(run)
        if left < 0 and scored:
            break
        found = [*scoring.mismatches(run)]
        wrong = {it.step for it in found}
        scored, calls = scored + 1, calls + len(run.calls)
        matched += not found
        calls_matched += 0 if "" in wrong else len(run.calls) - len(wrong)
        count += len(found)
        told += found[: MOST_MISMATCHES - len(told)]
    return Score(
        runs=scored,
        runs_matched=matched,
        calls=calls,
        calls_matched=max(calls_matched, 0),
        mismatched=count,
        mismatches=tuple(told),
        left_out=len(runs) - scored,
    )


def input_of(definition: Mapping[str, Any], run: RecordedRun) -> dict[str, Any]:
    """Return the input with which a routine would do what a run did; a parameter that the run says nothing of is missing."""
    return _Scoring(definition).input_of(run)


class _Scoring:
    def __init__(self, definition: Mapping[str, Any]) -> None:
        self.definition: Definition = definition_of(definition)
        self.steps = [it for it in self.definition.steps.values() if _makes_call(it)]
        self.schema = definition["input"]
        self.looking = Looking()
        readings = [[*readings_of(_args(it))] for it in self.steps]
        self.read = {it.path.split(".")[1] for found in readings for it in found if it.path.startswith("steps.")}  # fmt: skip
        self.places = [
            (it.path.removeprefix(INPUT), number, it.place)
            for number, found in enumerate(readings)
            for it in found
            if it.path.startswith(INPUT)
        ]

    def weight(self, run: RecordedRun) -> int:
        """How much text has to be read to score a run."""
        steps = zip(self.steps, run.calls, strict=False)
        return sum(len(it.output) for step, it in steps if step.id in self.read and isinstance(it.output, str))  # fmt: skip

    def input_of(self, run: RecordedRun) -> dict[str, Any]:
        given: dict[str, Any] = {TASK: run.task}
        for name, number, place in self.places:
            value = _at(place, run.calls[number].args) if number < len(run.calls) else NOTHING
            if name not in given and value is not NOTHING:
                given[name] = value
        return given

    def mismatches(self, run: RecordedRun) -> Iterator[Mismatch]:
        """Yield where the routine would not have done what the run did, at most one a step; one of no step is of the whole run."""
        given = self.input_of(run)
        why = self._not_taken(given)
        if tuple(map(_name, self.steps)) != run.tools:
            why = "made other calls"
        if why:
            yield Mismatch(run=run.id, step="", shown="", why=why)
            return
        facts = {"id": run.id, "mission": "", "agent": ""}
        course = Course(definition=self.definition, input=given, run=facts)
        for step, call in zip(self.steps, run.calls, strict=True):
            asked = course.next()
            if not isinstance(asked, Ask) or asked.step.id != step.id:
                yield Mismatch(run=run.id, step=step.id, shown="", why="a path leads nowhere: the agent would be asked")  # fmt: skip
                return
            found = self._difference((), _filled(asked), call.args)
            if found:
                yield Mismatch(run=run.id, step=step.id, shown=json_path(found[0]), why=found[1])
            output = data_of(call.output) if step.id in self.read else None
            course.took(Result(came=Came.DONE, output=output))

    def _not_taken(self, given: dict[str, Any]) -> str:
        for name, schema in self.schema["properties"].items():
            if name not in given:
                return f"it has nothing for {name}"
            if not Draft202012Validator(schema).is_valid(given[name]):
                if name == TASK:
                    return f"its task is longer than {LONGEST_TASK} characters"
                return f"{name} would not take what it has there"
        return ""

    def _difference(self, place: Place, one: Any, other: Any) -> tuple[Place, str] | None:
        """The first place where two values differ, told no further than to a name that may be shown."""
        if same(one, other):
            return None
        if isinstance(one, dict) and isinstance(other, dict):
            for name in sorted(one.keys() | other.keys()):
                if self.looking.is_sensitive(name):
                    continue
                if name not in one or name not in other:
                    return (*place, name), "is not there" if name in other else "is there"
                found = self._difference((*place, name), one[name], other[name])
                if found:
                    return found
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            for number, (left, right) in enumerate(zip(one, other, strict=True)):
                found = self._difference((*place, number), left, right)
                if found:
                    return found
        return place, "another value"


def _makes_call(step: Step) -> bool:
    return step.type == "tool" or (step.type == "agent" and step.id != ASK)


def _name(step: Step) -> str:
    if step.type == "agent":
        return f"{AGENTS}/{step.body['agent']}"
    return f"{step.body['server']}/{step.body['tool']}"


def _args(step: Step) -> Any:
    return {TASK: step.body["task"]} if step.type == "agent" else step.body.get("args", {})


def _filled(asked: Ask) -> Any:
    return {TASK: asked.body["task"]} if asked.step.type == "agent" else asked.body.get("args", {})


def _at(place: Place, args: Any) -> Any:
    found: Any = args
    for it in place:
        kind = dict if isinstance(it, str) else list
        if not isinstance(found, kind) or (it not in found if kind is dict else it >= len(found)):  # type: ignore[operator]
            return NOTHING
        found = found[it]
    return found
