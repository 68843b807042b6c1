"""The shape of what rows keep as JSON: one that somebody wrote by hand is to keep nobody from reading the others. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

COUNT, TEXT, SHARE = 0, "", 0.0


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


def is_map(value: Any, like: Any) -> bool:
    """Whether it is an object whose every member is like one."""
    return isinstance(value, dict) and all(is_shaped(it, like) for it in value.values())
