"""What stands in the box of a step, and which ways lead out of it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from liyagent.workflows.steps import END


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of words in a box; `to` is the id of the step that it leads to, "" for none."""

    text: str
    to: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """A way out of a step. `row` is the number of the line that tells of it, -1 for none; `is_straight`: to the one below."""

    to: str
    row: int
    is_straight: bool
    is_error: bool = False


def rows_of(step: Mapping[str, Any]) -> list[Row]:
    """Return the lines of a step's box below its id: what it does, when, and where it leads to."""
    return [Row(text=what_of(step)), *_manner(step), *_leads(step)]


def exits_of(step: Mapping[str, Any], following: str) -> list[Exit]:
    """Return each way out of a step behind which `following` stands."""
    rows = rows_of(step)
    exits = [
        Exit(to=row.to, row=number, is_straight=not row.is_error and row.to == following, is_error=row.is_error)
        for number, row in enumerate(rows)
        if row.to
    ]  # fmt: skip
    leads_on = "else" if step["type"] == "branch" else "next"
    if leads_on not in step and not (step["type"] == "branch" and "next" in step):
        exits.append(Exit(to=following, row=-1, is_straight=True))
    return exits


def what_of(step: Mapping[str, Any]) -> str:
    """Return in words what a step does."""
    kind = step["type"]
    if kind == "tool":
        return f"calls {step['server']}/{step['tool']}"
    if kind == "agent":
        return f"asks agent {step['agent']}: {step['task']}"
    if kind == "set":
        return f"sets {', '.join(step['values'])}"
    if kind == "branch":
        return "goes where the first of these holds:"
    if kind == "parallel":
        return f"{len(step['branches'])} branches side by side"
    if kind == "approve":
        return f"asks a person: {step['question']}"
    if "signal" in step:
        return f"waits for the signal {step['signal']}"
    if "until" in step:
        return f"waits until {_told(step['until'])}"
    return f"waits {_told(step['seconds'])} s"


def undo_of(step: Mapping[str, Any]) -> str:
    """Return the tool that undoes a step, "" for none."""
    undo = step.get("compensate")
    return f"{undo.get('server', step['server'])}/{undo['tool']}" if undo else ""


def _manner(step: Mapping[str, Any]) -> Iterator[Row]:
    if "when" in step:
        yield Row(text=f"only when {step['when']}")
    parts = []
    if step.get("retry", {}).get("times"):
        times = step["retry"]["times"]
        parts.append("tried again once" if times == 1 else f"tried again {times} times")
    if "timeout" in step:
        parts.append(f"at most {step['timeout']:g} s")
    if parts:
        yield Row(text=", ".join(parts))
    if undo := undo_of(step):
        yield Row(text=f"undone by {undo}")


def _leads(step: Mapping[str, Any]) -> Iterator[Row]:
    for case in step.get("cases", ()):
        yield Row(text=f"{_to(case['next'])} when {case['when']}", to=case["next"])
    if "else" in step:
        yield Row(text=f"{_to(step['else'])} else", to=step["else"])
    if "next" in step and "else" not in step:
        yield Row(text=f"{_to(step['next'])} next", to=step["next"])
    if "on_error" in step:
        yield Row(text=f"{_to(step['on_error'])} on error", to=step["on_error"], is_error=True)
    elif "fallback" in step:
        yield Row(text="on error: goes on with its fallback")


def _to(target: str) -> str:
    return "→ the end" if target == END else f"→ {target}"


def _told(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
