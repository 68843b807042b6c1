"""The shape of what rows keep as JSON. A row that somebody wrote by hand is to keep nobody from reading the others. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

COUNT, TEXT, SHARE = 0, "", 0.0
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


def is_shaped(value: Any, like: Any) -> bool:
    """Whether a value has all that `like` has, each of its kind; what a list holds is like the one thing that stands in its model."""
    if isinstance(like, Mapping):
        return isinstance(value, Mapping) and all(
            name in value and is_shaped(value[name], it) for name, it in like.items()
        )
    if isinstance(like, Sequence) and not isinstance(like, str):
        return isinstance(value, list) and all(is_shaped(it, like[0]) for it in value)
    if isinstance(like, float):
        return type(value) in (int, float) and math.isfinite(value)
    return type(value) is type(like)


def is_diff(value: Any) -> bool:
    """Whether it is the diff of a result."""
    return is_shaped(value, DIFF) and _is_map(value["counts"], COUNT)


def is_estimate(value: Any) -> bool:
    """Whether it is what a cohort replay was expected to cost."""
    return is_shaped(value, ESTIMATE) and isinstance(value.get("cost_micros"), int | None)


def is_override(value: Any) -> bool:
    """Whether it is what was tried."""
    return _is_map(value, TEXT)


def is_runs(value: Any) -> bool:
    """Whether it is a list of ids."""
    return is_shaped(value, [TEXT])


def is_skipped(value: Any) -> bool:
    """Whether it is a list of runs that were left out, with the reasons."""
    return is_shaped(value, [{"run": TEXT, "reason": TEXT}])


def is_summary(value: Any) -> bool:
    """Whether it is what a cohort replay came to, or nothing yet."""
    return isinstance(value, dict) and _is_map(value.get("verdicts", {}), COUNT)


def _is_map(value: Any, like: Any) -> bool:
    return isinstance(value, dict) and all(is_shaped(it, like) for it in value.values())
