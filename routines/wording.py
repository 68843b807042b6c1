"""What is said of routines in the console: states, kinds of values, scores and what they saved, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.safestring import SafeString

from liyagent.core.moments import span_in_words
from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from liyagent.core.tables import cell
from routines.models import Routine, RoutineState
from routines.standing import Standing

STATES: Mapping[str, tuple[str, str]] = {
    RoutineState.SUGGESTED: ("suggested", WARN),
    RoutineState.FILED: ("waits for a person", WARN),
    RoutineState.ADOPTED: ("adopted", GOOD),
    RoutineState.SUSPENDED: ("switched off, offered again", BAD),
    RoutineState.DISMISSED: ("dismissed for good", QUIET),
}
KINDS: Mapping[str, str] = {
    "literal": "always the same",
    "expression": "read from an earlier step",
    "parameter": "given with each run",
}
MOST_TOOLS = 6


def state_of(routine: Routine) -> SafeString:
    """Return where it stands, in words."""
    return pill(*STATES[routine.state])


def tools_told(tools: Sequence[str], *, most: int = MOST_TOOLS) -> str:
    """Return the tools in their order, of many the first."""
    more = len(tools) - most
    named = " > ".join(cell(it) for it in tools[:most])
    return f"{named} and {more} more" if more > 0 else named


def plural(number: int, what: str) -> str:
    """Return a number of things."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def support_told(routine: Routine) -> str:
    """Say of how many runs it was seen, and how many different tasks stood behind those it was compiled from."""
    return f"{plural(routine.support, 'run')}, {plural(routine.distinct_inputs, 'different task')}"


def score_told(score: Mapping[str, Any]) -> tuple[str, str]:
    """Say how it does against recorded runs, and in which colour; "" where that is not known."""
    runs, matched = score.get("runs", 0), score.get("runs_matched", 0)
    if not runs:
        return "", QUIET
    told = f"{matched} of {plural(runs, 'run')} the same on paper"
    return told, GOOD if matched == runs else BAD if matched * 2 < runs else WARN


def standing_told(standing: Standing) -> list[tuple[str, str]]:
    """Return how an adopted one does, a line each."""
    ends = ", ".join(f"{number} {cell(status)}" for status, number in standing.by_status.items())
    newest = " (the newest)" if standing.is_cut else ""
    told = [("Runs since it was adopted", f"{standing.runs}{newest}{f': {ends}' if ends else ''}")]
    if standing.rate is None:
        return [*told, ("The agent was asked", "no run of it has ended yet")]
    share = f"in {standing.fell_back} of {standing.ended} that ended ({standing.rate:.0%})"
    told.append(("The agent was asked", share))
    told.append(("Seconds", _compared(standing.seconds, standing.seconds_saved, seconds=True, of=standing.timed)))  # fmt: skip
    told.append(("Tokens", _compared(standing.tokens, standing.tokens_saved, seconds=False, of=standing.answered)))  # fmt: skip
    return told


def _compared(average: float | None, saved: float | None, *, seconds: bool, of: int) -> str:
    if average is None:
        return "nothing to compare: no run answered without waiting for a person" if seconds else "no run answered yet"  # fmt: skip
    took = f"{average:.1f} s" if seconds else f"{average:,}"
    if saved is None:
        return f"{took} a run; what the runs before took is not known any more"
    amount = span_in_words(abs(saved)) if seconds and abs(saved) >= 60 else f"{abs(saved):,.1f} s" if seconds else f"{abs(saved):,}"  # fmt: skip
    what = "saved" if saved >= 0 else "MORE than before"
    return f"{took} a run; {amount} {what} in {plural(of, 'run')} against the runs that it was made of"  # fmt: skip
