"""The table of W1: ratios beside the marks, medians of the rounds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

# What is reached now and what is aimed at; see docs/bench.md.
SHARE_MARKS = {"a": (25.0, 40.0), "b": (15.0, 28.0)}
P50_MARKS = {"a": (4.0, 2.2)}
LOG_MARKS = {"metadata": (2.0, 1.4), "full": (2.8, 2.1)}
# Start and end of a run are in these: 0.3 a step now, 0.2 aimed at.
SYNC_MARKS = {"look": (1.3, 1.2), "note": (3.3, 3.2)}
# Start and end are not in these.
STATEMENT_MARKS = {"look": (2.0, 1.0), "note": (4.0, 3.0)}
ONCE_A_STEP = 0.9
# A checkpoint or many full pages: the log bytes then say little about a step.
MOST_FULL_PAGES = 0.02

Round = dict[str, dict[str, float]]


def step_table(cells: Sequence[dict[str, Any]]) -> str:
    """Return one line a cell, the marks (now / aim) in brackets, `!` where "now" is missed."""
    lines = [
        "W1: ten model steps a run, start and end of the run included; medians, a fresh floor beside each round;",
        "(now/aim) are the marks, ! where now is missed; statements: a step's own + start and end; fpi: full pages a step",
        f"{'cell':<20}{'steps/s':>8}{'floor':>8}  {'% of floor1':<17}{'p50/floor':<17}{'p95/floor':<10}"
        f"{'statements':<14}{'syncs':<16}{'commits':<9}{'log/floor':<17}{'fpi':>5}",
    ]
    return "\n".join([*lines, *map(_line, cells)])


def _line(cell: dict[str, Any]) -> str:
    letter, tool, recording = cell["cell"].removeprefix("W1").split()
    rounds = cell["rounds"]

    def median(value: Callable[[Round], float]) -> float:
        return statistics.median(value(it) for it in rounds)

    share = median(lambda it: 100 * it["cell"]["rate"] / it["floor"]["rate"])
    p50 = median(lambda it: it["cell"]["p50_ms"] / it["floor"]["p50_ms"])
    p95 = median(lambda it: it["cell"]["p95_ms"] / it["floor"]["p95_ms"])
    syncs = median(lambda it: it["cell"]["syncs"])
    statements, others = _statements(cell)
    log = median(lambda it: it["cell"]["log_bytes"] / it["floor"]["log_bytes"])
    sync_marks = SYNC_MARKS[tool] if letter == "a" else None
    return (
        f"{cell['cell']:<20}{median(lambda it: it['cell']['rate']):>8.0f}"
        f"{median(lambda it: it['floor']['rate']):>8.0f}  "
        f"{_marked(share, SHARE_MARKS[letter], is_more_better=True):<17}"
        f"{_marked(p50, P50_MARKS.get(letter)):<17}{p95:<10.1f}"
        f"{_marked(statements, STATEMENT_MARKS[tool]) + f'+{others:.1f}':<14}"
        f"{_marked(syncs, sync_marks):<16}"
        f"{median(lambda it: it['cell']['commits']):<9.1f}"
        f"{_marked(log, LOG_MARKS[recording]):<17}{_full_pages(rounds):>5}"
    )


def _statements(cell: dict[str, Any]) -> tuple[float, float]:
    """Statements that each step makes, and those of start and end spread over the steps."""
    total = statistics.median(it["cell"]["statements"] for it in cell["rounds"])
    own = float(round(sum(calls for _, calls, _ in cell["statements"] if calls > ONCE_A_STEP)))
    return own, total - own


def _marked(
    value: float, marks: tuple[float, float] | None, *, is_more_better: bool = False
) -> str:
    """Return the value, its marks, and `!` where it misses the first of them."""
    if marks is None:
        return f"{value:.1f}"
    now, aim = marks
    is_missed = round(value, 1) < now if is_more_better else round(value, 1) > now
    return f"{value:.1f}{'!' if is_missed else ' '}({now:g}/{aim:g})"


def _full_pages(rounds: Sequence[Round]) -> str:
    """Full pages a step; `c` where a checkpoint fell into a round."""
    pages = statistics.median(it["cell"]["full_pages"] for it in rounds)
    has_checkpoint = any(it["cell"]["checkpoints"] for it in rounds)
    return f"{pages:.2f}{'c' if has_checkpoint else ''}"
