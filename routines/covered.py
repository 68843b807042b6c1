"""Which literals of a definition the data policies cover as they stand: one that was compiled before them may hold such (FL-93)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from liyagent.core.bounded_regex import TooSlow
from liyagent.core.templates import EXPRESSION
from liyagent.gateway.active import data_rules
from liyagent.gateway.data_rules import masked
from routines.definition import AGENTS, ASK, OPENS, TASK
from routines.values import same


def covered_steps(definition: Mapping[str, Any]) -> list[str]:
    """Return the ids of steps that are given a literal which a data policy covers now, or which cannot be held against one."""
    rules = data_rules()
    found: list[str] = []
    for step in definition["steps"] if rules else ():
        name, args = _call_of(step)
        of_it = [it for it in rules if it.covers(name)]
        try:
            if of_it and (any(it.fault for it in of_it) or _is_other(args, masked(args, of_it)[0])):
                found.append(step["id"])
        except TooSlow:
            found.append(step["id"])
    return found


def _call_of(step: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The call of a step and what stands in it as it is; that of the agent which is asked in the end holds nothing of runs."""
    if step["type"] == "tool":
        return f"{step['server']}/{step['tool']}", step.get("args", {})
    is_literal = step["type"] == "agent" and step["id"] != ASK and OPENS not in step["task"]
    return f"{AGENTS}/{step.get('agent', '')}", {TASK: step["task"]} if is_literal else {}


def _is_other(value: Any, hidden: Any) -> bool:
    """Whether something of a value is hidden, but for what is read when it runs."""
    if isinstance(value, dict):
        if EXPRESSION in value:
            return False
        if not isinstance(hidden, dict) or value.keys() != hidden.keys():
            return True
        return any(_is_other(it, hidden[name]) for name, it in value.items())
    if isinstance(value, list) and isinstance(hidden, list) and len(value) == len(hidden):
        return any(map(_is_other, value, hidden))
    return not same(value, hidden)
