"""What is told of a workflow's run to the person who takes it over."""

from __future__ import annotations

from typing import Any

from liyagent.core.plain import NotStorable, json_bytes, to_plain
from liyagent.workflows.course import Course
from runs.ending import Ending

MOST_BYTES = 1 << 20
TOO_LARGE = "larger than 1 MiB"


def context_of(course: Course, pinned: dict[str, Any], ending: Ending) -> dict[str, Any]:
    """Return input, variables and every attempt of every step, cut to 1 MiB each, with the step that failed and why."""
    return {
        "workflow": pinned["key"],
        "version": pinned["version"],
        "failed_step": ending.step,
        "error": ending.reason,
        "input": _bounded(course.input),
        "vars": _bounded(course.vars),
        "attempts": _bounded(course.tried),
    }


def text_of(value: Any) -> str:
    """Return text as it is, and all else as JSON."""
    return value if isinstance(value, str) else json_bytes(value).decode()


def _bounded(value: Any) -> Any:
    try:
        return to_plain(value, limit_bytes=MOST_BYTES)
    except NotStorable:
        return TOO_LARGE
