"""Drawn at random: what a run does, how each write of it is undone, and what is done if it fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from liyagent.providers.types import ModelAnswer
from tests.unit.runs.carrying.conftest import calls, says

WRITES = ("keyed", "readable", "blind")
# Loops end here, as cap; so do runs that are drawn long.
MOST_STEPS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A run to start. Of a workflow `steps` and `facts`, of an agent its model's `answers` and its map of undos.

    A write whose undo is declared bears `undoable` among its arguments, so that the vendor's ledger tells it.
    """

    steps: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    answers: list[ModelAnswer] = field(default_factory=list)
    map: dict[str, Any] = field(default_factory=dict)

    @property
    def handoff(self) -> str:
        """How its definition says that it goes to a person, "" where a setting does."""
        return str(self.facts.get("on_failure", {}).get("handoff", ""))


@st.composite
def tool_steps(draw: st.DrawFn, key: str) -> dict[str, Any]:
    """A step with one call; most are writes that can be undone."""
    name = draw(st.sampled_from((*WRITES, *WRITES, "look")))
    step: dict[str, Any] = {"id": key, "type": "tool", "server": "v", "tool": name}
    undo = draw(st.sampled_from((*WRITES, *WRITES, "", "missing"))) if name != "look" else ""
    step["args"] = {"s": key, **({"undoable": True} if undo else {})}
    if undo:
        own = f"steps.{key}.output"
        leads = f"{own}.nothing" if undo == "missing" else f"{own}.id"
        args = {"undo_of": {"$expr": leads}}
        step["compensate"] = {"tool": "keyed" if undo == "missing" else undo, "args": args}
    taken = draw(st.sampled_from(("", "", "", "retry", "on_error", "fallback")))
    if taken == "retry":
        step["retry"] = {"times": draw(st.integers(1, 2)), "backoff_seconds": 0}
    elif taken == "on_error":
        step["on_error"] = "end"
    elif taken == "fallback":
        step["fallback"] = {"id": 0}
    return step


@st.composite
def workflows(draw: st.DrawFn) -> Drawn:
    """A workflow of a few steps, some within branches; most fail at their last step or at their cap."""
    steps: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 4))):
        key = f"s{number}"
        kind = draw(st.sampled_from(("tool",) * 8 + ("parallel", "approve")))
        if kind == "tool":
            steps.append(draw(tool_steps(key)))
        elif kind == "approve":
            steps.append({"id": key, "type": "approve", "question": "Go on?"})
        else:
            branches = {it: [draw(tool_steps(f"{key}{it}"))] for it in ("l", "r")}
            steps.append({"id": key, "type": "parallel", "branches": branches})
    facts: dict[str, Any] = {"max_steps": MOST_STEPS}
    end = draw(st.sampled_from(("gone",) * 5 + ("loop", "done")))
    if end == "gone":
        steps.append({"id": "last", "type": "tool", "server": "v", "tool": "gone", "args": {}})
    elif end == "loop":
        steps[-1]["next"] = "s0"
    on_failure: dict[str, Any] = {}
    if handoff := draw(st.sampled_from(("", "", "approval", "ticket", "none"))):
        on_failure["handoff"] = handoff
    if draw(st.sampled_from((False,) * 5 + (True,))):
        on_failure["compensate"] = False
    if draw(st.sampled_from((False, False, True))):
        on_failure["on_stop"] = "keep"
    return Drawn(steps=steps, facts={**facts, "on_failure": on_failure})


@st.composite
def agent_runs(draw: st.DrawFn) -> Drawn:
    """An agent's run of a few writes, one or two a step, undone by its map; most answer nothing, which fails them."""
    undone = {it: draw(st.sampled_from((*WRITES, it, ""))) for it in WRITES}
    steps: list[ModelAnswer] = []
    for number in range(draw(st.integers(1, 3))):
        made = draw(st.lists(st.sampled_from(WRITES), min_size=1, max_size=2))
        asked = [
            (f"v/{it}", {"s": f"{number}.{place}", **({"undoable": True} if undone[it] else {})})
            for place, it in enumerate(made)
        ]
        ids = [f"toolu_s{number}p{place}Xq7" for place in range(len(made))]
        steps.append(calls(*asked, ids=ids))
    is_answered = draw(st.sampled_from((False,) * 5 + (True,)))
    steps.append(says("done" if is_answered else ""))
    args = {"undo_of": {"$expr": "result.id"}}
    map_ = {f"v/{it}": {"tool": undo, "args": args} for it, undo in undone.items() if undo}
    return Drawn(answers=steps, map=map_)


def runs() -> st.SearchStrategy[Drawn]:
    """A run to start."""
    return st.one_of(workflows(), workflows(), agent_runs())
