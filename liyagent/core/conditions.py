"""Conditions on plain JSON, in JMESPath: what is missing is null, and nothing an operator writes can run for long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from liyagent.core.errors import BadInput, LiyagentError

LONGEST = 500
# Those that make nothing larger than what they are given, so that a condition costs its length times the value.
FUNCTIONS = frozenset(
    {
        "abs", "ceil", "contains", "ends_with", "floor", "keys", "length", "max", "min", "not_null", "starts_with",
        "to_number", "type", "values",
    }
)  # fmt: skip
# Lists and objects of one's own double what they hold with every one that stands in another.
TOO_LARGE = {"multi_select_list": "a list", "multi_select_dict": "an object", "expref": "&"}


class BadCondition(BadInput):
    """The condition cannot be read."""

    code = "condition.bad"


class CannotBeJudged(LiyagentError):
    """The condition does not fit this value."""

    code = "condition.cannot_be_judged"


def check_condition(text: str) -> None:
    """Raise `BadCondition` that says why `text` is no condition."""
    _parsed(text)


def holds(text: str, value: Any) -> bool:
    """Whether a condition holds of plain JSON; it does not where it finds null, false, or something empty.

    Raises `BadCondition`; `CannotBeJudged` where a function is given what it does not take, such as a null.
    """
    parsed = _parsed(text)
    try:
        found = parsed.search(value)
    except (JMESPathError, RecursionError, TypeError, ValueError, OverflowError) as error:
        raise CannotBeJudged(f"{text[:80]!r}: {_one_line(error)}") from None
    return found is not None and found is not False and found not in ("", [], {})


def _parsed(text: str) -> Any:
    if not text.strip() or len(text) > LONGEST:
        raise BadCondition(f"a condition wants 1 to {LONGEST} characters of JMESPath")
    try:
        parsed = jmespath.compile(text)
        for node in _nodes(parsed.parsed):
            _check(node)
    except (JMESPathError, RecursionError, ValueError) as error:
        told = _one_line(error)
        hint = "; a number stands in backticks" if "(NUMBER)" in told else ""
        raise BadCondition(f"{text[:80]!r} is no JMESPath: {told}{hint}") from None
    return parsed


def _check(node: dict[str, Any]) -> None:
    kind = node["type"]
    if kind in TOO_LARGE:
        raise BadCondition(f"{TOO_LARGE[kind]} of its own is not taken in a condition")
    if kind == "function_expression" and node["value"] not in FUNCTIONS:
        raise BadCondition(
            f"{node['value'][:40]}() is not taken in a condition; those are {', '.join(sorted(FUNCTIONS))}"
        )


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["children"]:
        if isinstance(child, dict):
            yield from _nodes(child)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
