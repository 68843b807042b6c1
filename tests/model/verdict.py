"""What spin's verifier says of a variant, and whether that was expected. Pure: fed with text."""

from __future__ import annotations

import re
from dataclasses import dataclass

HOLDS = "holds"
BREAKS = "breaks"
ERRORS = re.compile(r"errors: (\d+)")
STATES = re.compile(r"^ *([\d.e+]+) states, stored", re.MULTILINE)
BROKEN = re.compile(r"^pan:\d+: assertion violated +(.*?) *\(at depth \d+\)", re.MULTILINE)
# Each of these means that not everything was visited.
CUT_SHORT = (
    "max search depth too small",
    "depth limit reached",
    "Search not completed",
    "out of memory",
    "memory limit",
    "Interrupted",
    "VECTORSZ",
    "hash array",
    "too many",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What came of a search: `holds`, `breaks`, or in words why it says neither."""

    outcome: str
    states: int = 0
    assertion: str = ""


def seen_in(output: str) -> Seen:
    """Read the verifier's output. A claim breaks only by an assertion of the model, and holds only if all was visited."""
    errors, stored, broken = ERRORS.search(output), STATES.search(output), BROKEN.search(output)
    if errors is None or stored is None:
        return Seen(outcome=f"no verdict: {_last_line(output)}")
    states = int(float(stored[1]))
    if broken is not None and int(errors[1]) > 0:
        return Seen(outcome=BREAKS, states=states, assertion=broken[1])
    for words in CUT_SHORT:
        if words.lower() in output.lower():
            return Seen(outcome=f"not all visited: {words}", states=states)
    if int(errors[1]) > 0:
        return Seen(outcome="broken, but by no assertion", states=states)
    return Seen(outcome=HOLDS, states=states)


def line_of(*, model: str, name: str, expected: str, seen: Seen) -> str:
    """One line for a variant: model, name, states, expected, seen, and ok or NOT."""
    ok = "ok" if seen.outcome == expected else "NOT"
    told = f"{seen.outcome}: {seen.assertion}" if seen.assertion else seen.outcome
    return f"{model:<10}  {name:<56}  {seen.states:>9,}  {expected:<6}  {ok:<3}  {told}"


def _last_line(output: str) -> str:
    lines = output.strip().splitlines()
    return lines[-1].strip() if lines else "nothing was said"
