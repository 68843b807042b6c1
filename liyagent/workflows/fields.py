"""What stands around a definition: the workflow's key, its name, its agent, whether it is switched on. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from liyagent.core.plain import clean_text
from liyagent.core.tables import cell
from liyagent.workflows.told import Problem, shown

KEY = re.compile(r"[A-Za-z0-9_-]{1,80}")
# What addresses below /api/workflows lead to.
TAKEN = frozenset({"schema", "validate"})
LONGEST_NAME = 200
REQUIRED = ("key", "name", "agent", "definition")
FIELDS = (*REQUIRED, "is_enabled")


def field_problems(given: Mapping[str, Any]) -> list[Problem]:
    """Return the name of each field but the definition that is wrong, what was found and what was meant."""
    problems = [
        (cell(name[:80]), f"is not known here; known are {', '.join(FIELDS)}")
        for name in given
        if name not in FIELDS
    ]
    problems += [(name, "is missing") for name in REQUIRED if name not in given]
    for name, (is_right, wants) in CHECKS.items():
        if name in given and not is_right(given[name]):
            problems.append((name, f"is {shown(given[name])}; it wants {wants}"))
    return problems


def is_agent_key(value: Any) -> bool:
    """Whether an agent could bear it as its key."""
    return isinstance(value, str) and KEY.fullmatch(value) is not None


def _is_key(value: Any) -> bool:
    return isinstance(value, str) and KEY.fullmatch(value) is not None and value not in TAKEN


def _is_name(value: Any) -> bool:
    return (
        isinstance(value, str)
        and 0 < len(value) <= LONGEST_NAME
        and clean_text(value).strip() != ""
    )


CHECKS = {
    "key": (_is_key, f"1 to 80 letters, digits, - and _, and none of {', '.join(sorted(TAKEN))}"),
    "name": (_is_name, f"text of 1 to {LONGEST_NAME} characters"),
    "agent": (is_agent_key, "the key of an agent"),
    "is_enabled": (lambda it: isinstance(it, bool), "true or false"),
}
