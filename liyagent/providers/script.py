"""A model's part written down in YAML: read, checked, and played one step at a time."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from liyagent.core.canonical import digest
from liyagent.core.errors import BadInput, LiyagentError
from liyagent.core.files import parse_yaml, read_text
from liyagent.core.plain import NotJson, NotStorable, clean_text, json_bytes, parse_json, to_plain
from liyagent.core.templates import BadTemplate, MissingPath, render
from liyagent.providers.arguments import parse_arguments
from liyagent.providers.types import Finish, Message, ModelAnswer, Role, ToolCall

MOST_STEPS = 10_000
MOST_DELAY_SECONDS = 3_600
TOOL_NAME = re.compile(r"[^/\s]+/[^/\s]+")
ERRORS = ("unavailable", "rejected")
FINISHES = tuple(finish.value for finish in Finish)
CASE_KEYS = frozenset({"when", "steps"})
MOST_CASES = 1_000
STEP_KEYS = frozenset({"delay", "text", "calls", "finish", "error", "repeat"})
CALL_KEYS = frozenset({"tool", "args", "id", "raw"})


class BadScript(LiyagentError):
    """The script cannot be played; the detail names the file, the place in it and what was meant."""

    code = "script.bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedCall:
    """One call of a step. `raw` replaces the arguments' text, to play a model that was cut."""

    tool: str
    args: Any
    id: str | None
    raw: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One answer of the model. `place` is where it stands in the script. `error` is said instead."""

    place: str = ""
    delay_seconds: float = 0.0
    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    finish: Finish = Finish.STOP
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """All steps, repeats written out. `name` is the file's, for messages.

    `cases` are other steps, each for tasks in which its text stands; the first that fits counts.
    """

    name: str
    steps: tuple[Step, ...]
    cases: tuple[tuple[str, tuple[Step, ...]], ...] = ()

    def step_at(self, steps_taken: int, *, task: str = "") -> Step:
        """Return the step that follows `steps_taken` others where `task` was asked; after the last, the text `done`."""
        steps = next((found for when, found in self.cases if when in task), self.steps)
        return steps[steps_taken] if steps_taken < len(steps) else Step(text="done")


def read_script(path: Path) -> Script:
    """Read a script, kept until its file changes. Raises `BadScript`, also where there is no such file."""
    try:
        stat = path.stat()
        return _read(path, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise BadScript(f"{path.name}: cannot be read: {error.strerror}") from None


@functools.lru_cache(maxsize=256)
def _read(path: Path, _mtime_ns: int, _size: int) -> Script:
    try:
        text = read_text(path)
    except BadInput as error:
        raise BadScript(f"{path.name}: {error}") from None
    return parse_script(text, name=path.name)


def parse_script(text: str, *, name: str) -> Script:
    """Return the script written in YAML. Raises `BadScript` with the place and what it wants there."""
    try:
        document = parse_yaml(text)
    except BadInput as error:
        hint = "; quote a text that starts with {{" if "{{" in text else ""
        raise BadScript(f"{name}: {error}{hint}") from None
    told = document if isinstance(document, dict) else {}
    steps = _steps(told.get("steps"), f"{name}: steps")
    cases = told.get("cases") or []
    is_few = isinstance(cases, list) and len(cases) <= MOST_CASES
    _want(is_few, f"{name}: cases", f"a list of at most {MOST_CASES} of {{when, steps}}")
    return Script(
        name=name,
        steps=steps,
        cases=tuple(_case(raw, f"{name}: cases[{index}]") for index, raw in enumerate(cases)),
    )


def _case(raw: Any, place: str) -> tuple[str, tuple[Step, ...]]:
    _want_keys(raw, place, CASE_KEYS)
    when = raw.get("when")
    _want(isinstance(when, str) and when != "", f"{place}.when", "a text that stands in the task")
    return when, _steps(raw.get("steps"), f"{place}.steps")


def _steps(listed: Any, where: str) -> tuple[Step, ...]:
    _want(isinstance(listed, list), where, "a list of steps")
    steps: list[Step] = []
    for index, raw in enumerate(listed):
        place = f"{where}[{index}]"
        steps += [_step(raw, place)] * _repeat(raw, place)
        _want(len(steps) <= MOST_STEPS, place, f"at most {MOST_STEPS} steps, repeats counted")
    return tuple(steps)


def task_in(messages: Sequence[Message]) -> str:
    """Return the first thing the user said, "" for nothing."""
    return next((it.text for it in messages if it.role is Role.USER), "")


def play(step: Step, *, run_id: str, steps_taken: int, messages: Sequence[Message]) -> ModelAnswer:
    """Return the step's answer, its templates filled. Raises `BadScript` for a template that finds nothing.

    A call's id, where the script names none, is opaque and follows from run, step and position.
    """
    context = _context(run_id, messages)
    calls = tuple(
        _call(
            call,
            context,
            place=f"{step.place}.calls[{index}].args",
            seed=[run_id, steps_taken, index],
        )
        for index, call in enumerate(step.calls)
    )
    text = _filled(step.text, context, place=f"{step.place}.text")
    return ModelAnswer(
        text=clean_text(text if isinstance(text, str) else json_bytes(text).decode()),
        calls=calls,
        finish=step.finish,
        input_tokens=sum(len(message.text) for message in messages) // 4,
        output_tokens=(len(step.text) + sum(len(call.arguments_text) for call in calls)) // 4,
    )


def _context(run_id: str, messages: Sequence[Message]) -> dict[str, Any]:
    """What templates see: the first thing the user said, also word by word, the run, and each tool result so far."""
    task = task_in(messages)
    results = [_result(message.text) for message in messages if message.role is Role.TOOL]
    return {"task": task, "words": task.split(), "run": run_id, "results": results}


def _result(text: str) -> Any:
    try:
        return parse_json(text)
    except NotJson:
        return text


def _call(call: ScriptedCall, context: dict[str, Any], *, place: str, seed: list[Any]) -> ToolCall:
    id_ = f"call_{digest(seed)[:24]}" if call.id is None else call.id
    if call.raw is not None:
        return ToolCall(
            id=id_, name=call.tool, arguments_text=call.raw, args=parse_arguments(call.raw)
        )
    args = _filled(call.args, context, place=place)
    return ToolCall(id=id_, name=call.tool, arguments_text=json_bytes(args).decode(), args=args)


def _filled(value: Any, context: dict[str, Any], *, place: str) -> Any:
    try:
        return to_plain(render(value, context))
    except (MissingPath, BadTemplate, NotStorable) as error:
        raise BadScript(f"{place}: {error}; templates see task, words, run and results") from None


def _step(raw: Any, place: str) -> Step:
    _want_keys(raw, place, STEP_KEYS)
    delay, text, calls = raw.get("delay", 0), raw.get("text", ""), raw.get("calls") or []
    _want(
        _is_number(delay) and 0 <= delay <= MOST_DELAY_SECONDS,
        f"{place}.delay",
        "seconds from 0 to 3600",
    )
    _want(isinstance(text, str), f"{place}.text", "a text")
    _want(isinstance(calls, list), f"{place}.calls", "a list of {tool, args, id}")
    finish = raw.get("finish", Finish.CALLS.value if calls else Finish.STOP.value)
    _want(finish in FINISHES, f"{place}.finish", f"one of {', '.join(FINISHES)}")
    error = raw.get("error", "")
    _want(error == "" or error in ERRORS, f"{place}.error", f"one of {', '.join(ERRORS)}")
    return Step(
        place=place,
        delay_seconds=float(delay),
        text=text,
        calls=tuple(
            _scripted_call(call, f"{place}.calls[{index}]") for index, call in enumerate(calls)
        ),
        finish=Finish(finish),
        error=error,
    )


def _scripted_call(raw: Any, place: str) -> ScriptedCall:
    _want_keys(raw, place, CALL_KEYS)
    tool, args, id_, text = raw.get("tool"), raw.get("args", {}), raw.get("id"), raw.get("raw")
    _want(
        isinstance(tool, str) and TOOL_NAME.fullmatch(tool) is not None,
        f"{place}.tool",
        "server/tool",
    )
    _want(isinstance(args, dict), f"{place}.args", "names and values")
    _want(id_ is None or isinstance(id_, str), f"{place}.id", "a text (quote a number)")
    _want(text is None or isinstance(text, str), f"{place}.raw", "the arguments as text")
    return ScriptedCall(tool=tool, args=args, id=id_, raw=text)


def _repeat(raw: dict[str, Any], place: str) -> int:
    times = raw.get("repeat", 1)
    valid = type(times) is int and 1 <= times <= MOST_STEPS
    _want(valid, f"{place}.repeat", f"a whole number from 1 to {MOST_STEPS}")
    return int(times)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _want_keys(raw: Any, place: str, known: frozenset[str]) -> None:
    _want(isinstance(raw, dict), place, f"names of {', '.join(sorted(known))}")
    unknown = [str(key) for key in raw if key not in known]
    _want(not unknown, f"{place}.{'.'.join(unknown[:1])}", f"one of {', '.join(sorted(known))}")


def _want(met: bool, place: str, what: str) -> None:
    if not met:
        raise BadScript(f"{place}: wants {what}")
