"""What differs between two definitions, by path: what is shown of a routine that is no longer what a person was asked about. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from liyagent.core.canonical import canonical

MOST_CHANGES = 20
NOTHING: Any = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A place that differs: JSON text, "" where there is nothing."""

    path: str
    before: str
    after: str


def changes_between(before: Any, after: Any) -> list[Change]:
    """Return where two definitions differ, in their order; one more than are shown at the most. Steps are told by their ids."""
    return list(islice(_walk("$", before, after), MOST_CHANGES + 1))


def _walk(path: str, before: Any, after: Any) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in {**before, **after}:
            yield from _walk(f"{path}.{name}", before.get(name, NOTHING), after.get(name, NOTHING))
    elif _by_id(before) is not None and _by_id(after) is not None:
        was, now = _by_id(before) or {}, _by_id(after) or {}
        for name in {**was, **now}:
            yield from _walk(f"{path}[{name}]", was.get(name, NOTHING), now.get(name, NOTHING))
        if list(was) != list(now) and was.keys() == now.keys():
            yield Change(path=path, before=" > ".join(was), after=" > ".join(now))
    elif _text(before) != _text(after):
        yield Change(path=path, before=_text(before), after=_text(after))


def _by_id(value: Any) -> dict[str, Any] | None:
    """Steps by their ids, None for what is no list of steps."""
    if not isinstance(value, list) or not value:
        return None
    if not all(isinstance(it, dict) and isinstance(it.get("id"), str) for it in value):
        return None
    return {it["id"]: it for it in value}


def _text(value: Any) -> str:
    return "" if value is NOTHING else canonical(value).decode()
