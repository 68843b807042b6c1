"""The content of an event as plain data, whatever was stored as such. Pure and total."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

# A chain of ours holds no number that is longer: a counter beyond it is taken for none.
HIGHEST = 1 << 62
LONGEST = 500


def content_of(text: str) -> Mapping[str, Any]:
    """Return what an event tells, empty for what is no object of ours. Never raises; a name that stands twice is none."""
    try:
        found = json.loads(text, object_pairs_hook=_once_each, parse_int=_number)
    except (ValueError, TypeError, RecursionError):
        return {}
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


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a name that stands twice nobody can say which is meant."""
    found: dict[str, Any] = dict(pairs)
    return found if len(found) == len(pairs) else {}


def _number(text: str) -> int:
    """Ids of chat systems are longer than any counter; digits beyond what Python turns into a number are no number."""
    return int(text) if len(text) < 100 else -1
