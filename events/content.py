"""The content of an event as plain data, whatever was stored as such. Pure and total."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

# A chain of ours holds no number that is longer: a counter beyond it is taken for none.
HIGHEST = 1 << 62
LONGEST = 500


def content_of(text: str) -> Mapping[str, Any]:
    """Return what an event tells, empty for what is no object of ours. Never raises; a name that stands twice is none."""
    try:
        found = _loaded(text)
        if "\\u" in text:
            # An escape can stand for half a letter, which no answer can be written with.
            found = _loaded(json.dumps(found, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def quick_content(text: str) -> Mapping[str, Any]:
    """Return as `content_of` does, several times as quickly, of what an intact chain holds: of what stands twice the last counts."""
    try:
        found = orjson.loads(text)
    except (ValueError, TypeError):
        return content_of(text)
    return found if isinstance(found, dict) else {}


def whole_number(value: Any) -> int:
    """Return a counter, 0 for what is none."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= HIGHEST else 0


def some_text(value: Any) -> str:
    """Return a text, cut at 500 characters; empty for what is none."""
    return value[:LONGEST] if isinstance(value, str) else ""


def some_list(value: Any) -> Sequence[Any]:
    """Return a list, empty for what is none."""
    return value if isinstance(value, list) else ()


def _loaded(text: str | bytes) -> Any:
    return json.loads(
        text,
        object_pairs_hook=_once_each,
        parse_int=_number,
        parse_float=_finite,
        parse_constant=lambda _name: None,
    )


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a name that stands twice nobody can say which is meant."""
    found: dict[str, Any] = dict(pairs)
    return found if len(found) == len(pairs) else {}


def _finite(text: str) -> float | None:
    found = float(text)
    return found if math.isfinite(found) else None


def _number(text: str) -> int:
    """Ids of chat systems are longer than any counter; digits beyond what Python turns into a number are no number."""
    return int(text) if len(text) < 100 else -1
