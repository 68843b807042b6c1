"""Whether a definition can be carried: its shape, where its steps lead, and what its expressions read. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from liyagent.core.conditions import check_condition
from liyagent.core.errors import LiyagentError
from liyagent.core.templates import EXPRESSION, PLACEHOLDER
from liyagent.workflows.errors import DefinitionWrong
from liyagent.workflows.reads import paths_read
from liyagent.workflows.shape import MOST_PROBLEMS, shape_problems
from liyagent.workflows.steps import END
from liyagent.workflows.told import Problem, at, named, shown
from liyagent.workflows.waits import check_wait

ROOTS = ("input", "vars", "steps", "run")
OF_RUN = frozenset({"id", "mission", "agent", "done"})
OF_STEP = frozenset({"came", "output", "error", "attempts"})


def check_definition(data: Any) -> None:
    """Raise `DefinitionWrong`, naming the JSON path of each problem, unless `data` can be carried."""
    problems = problems_of(data)
    if problems:
        raise DefinitionWrong(problems)


def problems_of(data: Any) -> list[Problem]:
    """Return what is wrong with plain JSON as a definition, in its order: path, what was found and what was meant.

    What it means is looked at once its shape is right. 200 are looked for at most.
    """
    return shape_problems(data) or [*islice(_meaning(data), MOST_PROBLEMS)]


def _meaning(data: Mapping[str, Any]) -> Iterator[Problem]:
    yield from _steps(data["steps"], "$.steps", known=frozenset())
    names = {it["id"] for it in data["steps"]}
    if "output" in data:
        yield from _expressions(data["output"], "$.output", names)


def _steps(
    steps: Sequence[Mapping[str, Any]], path: str, *, known: frozenset[str]
) -> Iterator[Problem]:
    names: set[str] = set()
    for number, step in enumerate(steps):
        if step["id"] == END:
            yield f"{path}[{number}].id", f"{END!r} is where a workflow ends, and no step's id"
        if step["id"] in names or step["id"] in known:
            yield f"{path}[{number}].id", f"{step['id']!r} is the id of an earlier step"
        names.add(step["id"])
    for number, step in enumerate(steps):
        yield from _step(step, f"{path}[{number}]", names, known=known)
    reached = _reached(steps)
    for number, step in enumerate(steps):
        if step["id"] not in reached:
            yield f"{path}[{number}]", f"no step leads to {step['id']!r}"


def _step(
    step: Mapping[str, Any], path: str, names: set[str], *, known: frozenset[str]
) -> Iterator[Problem]:
    readable = names | known
    yield from _leads(step, path, names)
    yield from _conditions(step, path, readable)
    if step["type"] == "wait":
        yield from _wait(step, path)
    for field in ("args", "task", "values", "seconds", "until", "signal", "question", "fallback"):
        if field in step:
            yield from _expressions(step[field], f"{path}.{field}", readable)
    if "compensate" in step:
        args = step["compensate"].get("args", {})
        yield from _expressions(args, f"{path}.compensate.args", readable)
    for name, steps in step.get("branches", {}).items():
        yield from _steps(steps, at(f"{path}.branches", name), known=frozenset(readable))


def _leads(step: Mapping[str, Any], path: str, names: set[str]) -> Iterator[Problem]:
    for place, to in _targets(step):
        if to != END and to not in names:
            yield f"{path}.{place}", f"{to!r} is no step; those are {named(names)}, and {END}"


def _targets(step: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field in ("next", "on_error", "else"):
        if field in step:
            yield field, step[field]
    for number, case in enumerate(step.get("cases", ())):
        yield f"cases[{number}].next", case["next"]


def _conditions(step: Mapping[str, Any], path: str, names: set[str]) -> Iterator[Problem]:
    found = [("when", step["when"])] if "when" in step else []
    found += [(f"cases[{n}].when", it["when"]) for n, it in enumerate(step.get("cases", ()))]
    for place, text in found:
        try:
            check_condition(text)
        except LiyagentError as error:
            yield f"{path}.{place}", str(error)
            continue
        for read in paths_read(text):
            yield from _read(read, f"{path}.{place}", names)


def _read(read: tuple[str, ...], path: str, names: set[str]) -> Iterator[Problem]:
    told = shown(".".join(read))
    if read[0] not in ROOTS:
        yield path, f"{told} reads {shown(read[0])}; what can be read is {', '.join(ROOTS)}, and a text stands in quotes: '{read[0][:40]}'"  # fmt: skip
    elif read[0] == "steps" and len(read) > 1 and read[1] not in names:
        yield path, f"{told} reads a step that is not there; those are {named(names)}"
    elif read[0] == "steps" and len(read) > 2 and read[2] not in OF_STEP:
        yield path, f"{told}: of a step there is {', '.join(sorted(OF_STEP))}"


def _wait(step: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """What is written out can be judged now, what is filled in only then."""
    for name in ("seconds", "until", "signal"):
        value = step.get(name)
        if value is None or isinstance(value, Mapping) or "{{" in str(value):
            continue
        try:
            check_wait({name: value})
        except LiyagentError as error:
            yield f"{path}.{name}", str(error)


def _reached(steps: Sequence[Mapping[str, Any]]) -> set[str]:
    """The ids of the steps that are led to. One that leads to no step is told of once: those behind it count as reached."""
    places: dict[str, int] = {}
    for number, step in enumerate(steps):
        places.setdefault(step["id"], number)
    reached: set[int] = set()
    ahead = [0]
    while ahead:
        number = ahead.pop()
        if number in reached or number >= len(steps):
            continue
        reached.add(number)
        step = steps[number]
        leads = [to for _, to in _targets(step)]
        ahead += [places[to] for to in leads if to in places]
        follows = "else" not in step if step["type"] == "branch" else "next" not in step
        if follows or any(to not in places and to != END for to in leads):
            ahead.append(number + 1)
    return {steps[number]["id"] for number in reached}


def _expressions(value: Any, path: str, names: set[str]) -> Iterator[Problem]:
    if isinstance(value, str):
        for match in PLACEHOLDER.finditer(value):
            yield from _reads(match[1].strip(), path, names)
        if PLACEHOLDER.sub("", value).count("{{"):
            yield path, f"{shown(value)} opens a template and does not close it"
    elif isinstance(value, Mapping):
        if EXPRESSION in value:
            if len(value) > 1 or not isinstance(value[EXPRESSION], str):
                yield path, f"{EXPRESSION} stands alone, with a dotted path"
            else:
                yield from _reads(value[EXPRESSION], path, names)
            return
        for name, item in value.items():
            yield from _expressions(item, at(path, name), names)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _expressions(item, at(path, number), names)


def _reads(text: str, path: str, names: set[str]) -> Iterator[Problem]:
    root, *rest = text.split(".")
    told = shown(text)
    if not all((root, *rest)):
        yield path, f"{told} is no dotted path such as 'steps.issue.output.key'"
    elif root not in ROOTS:
        yield path, f"{told} reads {root!r}; what can be read is {', '.join(ROOTS)}"
    elif root == "run" and (not rest or rest[0] not in OF_RUN):
        yield path, f"{told}: of the run there is {', '.join(sorted(OF_RUN))}"
    elif root == "steps" and (not rest or rest[0] not in names):
        yield path, f"{told} reads a step that is not there; those are {named(names)}"
    elif root == "steps" and (len(rest) < 2 or rest[1] not in OF_STEP):
        yield path, f"{told}: of a step there is {', '.join(sorted(OF_STEP))}"
