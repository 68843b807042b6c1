"""One event of a run in a line, in the words of the run's page: for lists of what many runs did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from events.content import some_text, whole_number
from liyagent.core.tables import visible
from runs.shown_note import title_of


def line_of(kind: str, facts: Mapping[str, Any]) -> str:
    """Return what an event tells, by its facts, in one line. Total, whatever is stored."""
    told = {
        name: visible(some_text(facts.get(name)))
        for name in ("server", "tool", "fate", "decision", "by")
    }
    about = f"{told['server']}/{told['tool']}" if told["server"] and told["tool"] else ""
    if kind == "step":
        return f"Step {whole_number(facts.get('step'))}"
    if kind == "tool.call" and about:
        return f"{about}: {told['fate'] or 'it is not told what became of it'}"
    came_of = " by ".join(it for it in (told["decision"] or told["fate"], told["by"]) if it)
    return ": ".join(it for it in (title_of(kind, facts), about, came_of) if it)
