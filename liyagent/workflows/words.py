"""A workflow's steps in words: for the shell, and beside their picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from liyagent.core.tables import aligned
from liyagent.workflows.boxes import exits_of, undo_of, what_of
from liyagent.workflows.steps import END

LONGEST_TOLD = 300


class StepTold(NamedTuple):
    """A step in words. `key` is its id, that of one within a branch `parallel/branch/id`."""

    key: str
    type: str
    what: str
    leads_to: str
    undo: str


def steps_in_words(definition: Mapping[str, Any]) -> Iterator[StepTold]:
    """Yield each step of a checked definition in words, those of branches behind the step they belong to."""
    yield from _steps(definition["steps"], "")


def steps_told(definition: Mapping[str, Any]) -> str:
    """Return the steps as a table of text."""
    rows = [(it.key, it.type, it.what, it.leads_to, it.undo) for it in steps_in_words(definition)]
    return aligned(("STEP", "TYPE", "WHAT", "LEADS TO", "UNDONE BY"), rows)


def _steps(steps: Sequence[Mapping[str, Any]], prefix: str) -> Iterator[StepTold]:
    followers = [*(it["id"] for it in steps[1:]), END]
    for step, follower in zip(steps, followers, strict=True):
        exits = exits_of(step, follower)
        ways = dict.fromkeys(f"{it.to} on error" if it.is_error else it.to for it in exits)
        yield StepTold(
            key=f"{prefix}{step['id']}",
            type=step["type"],
            what=_shortened(_what(step)),
            leads_to=", ".join(ways),
            undo=undo_of(step),
        )
        for name, inner in step.get("branches", {}).items():
            yield from _steps(inner, f"{prefix}{step['id']}/{name}/")


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_TOLD else f"{text[:LONGEST_TOLD]}…"


def _what(step: Mapping[str, Any]) -> str:
    """What it does; of a branch each case, in their order."""
    if step["type"] != "branch":
        return what_of(step)
    cases = [f"to {it['next']} when {it['when']}" for it in step["cases"]]
    return "; ".join([*cases, *([f"else to {step['else']}"] if "else" in step else [])])
