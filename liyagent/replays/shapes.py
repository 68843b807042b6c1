"""The shape of what rows keep as JSON. A row that somebody wrote by hand is to keep nobody from reading the others. Pure."""

from __future__ import annotations

from typing import Any

from liyagent.core.shapes import COUNT, SHARE, TEXT, is_map, is_shaped

BESIDE = {"was": COUNT, "now": COUNT}
DIFF: dict[str, Any] = {
    "differs": [TEXT],
    "similarity": SHARE,
    "status": {"was": TEXT, "now": TEXT},
    "error": {"was": TEXT, "now": TEXT},
    "added": [TEXT],
    "dropped": [TEXT],
    "counts": {},
    "unserved": [TEXT],
    "unused": [TEXT],
    "drift": COUNT,
    "steps": BESIDE,
    "calls": BESIDE,
    "input_tokens": BESIDE,
    "output_tokens": BESIDE,
    "cost_micros": BESIDE,
    "model_ms": BESIDE,
}
NO_DIFF = {name: [] if isinstance(it, list) else it for name, it in DIFF.items()}
ESTIMATE: dict[str, Any] = {
    "runs": COUNT,
    "replays": COUNT,
    "model_calls": COUNT,
    "input_tokens": COUNT,
    "output_tokens": COUNT,
    "currency": TEXT,
}


def is_diff(value: Any) -> bool:
    """Whether it is the diff of a result."""
    return is_shaped(value, DIFF) and is_map(value["counts"], COUNT)


def is_estimate(value: Any) -> bool:
    """Whether it is what a cohort replay was expected to cost."""
    return is_shaped(value, ESTIMATE) and isinstance(value.get("cost_micros"), int | None)


def is_override(value: Any) -> bool:
    """Whether it is what was tried."""
    return is_map(value, TEXT)


def is_runs(value: Any) -> bool:
    """Whether it is a list of ids."""
    return is_shaped(value, [TEXT])


def is_skipped(value: Any) -> bool:
    """Whether it is a list of runs that were left out, with the reasons."""
    return is_shaped(value, [{"run": TEXT, "reason": TEXT}])


def is_summary(value: Any) -> bool:
    """Whether it is what a cohort replay came to, or nothing yet."""
    return isinstance(value, dict) and is_map(value.get("verdicts", {}), COUNT)
