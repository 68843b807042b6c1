"""How the arguments of a call differ from those of the call that answered it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from liyagent.core.canonical import NotCanonical, canonical

MOST_DRIFT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """One place that differs. `kind`: `added` (only in the replay), `dropped` (only in the record) or `changed`."""

    path: str
    kind: str
    was: Any = None
    now: Any = None


def drift_of(was: Any, now: Any) -> list[Drift]:
    """Return where two arguments differ, at most `MOST_DRIFT` places; equal is what has the same canonical form."""
    return list(islice(_drift(was, now, ""), MOST_DRIFT))


def is_same(one: Any, other: Any) -> bool:
    """Whether two values have one canonical form: 5 is 5.0, and neither 1 nor "1" is true (ruling 24)."""
    try:
        return canonical(one) == canonical(other)
    except NotCanonical:
        return False


def _drift(was: Any, now: Any, path: str) -> Iterator[Drift]:
    if isinstance(was, dict) and isinstance(now, dict):
        for name in sorted(was.keys() | now.keys()):
            yield from _of_name(was, now, name, f"{path}.{name}" if path else name)
    elif isinstance(was, list) and isinstance(now, list):
        yield from _of_lists(was, now, path)
    elif not is_same(was, now):
        yield Drift(path=path, kind="changed", was=was, now=now)


def _of_name(was: dict[str, Any], now: dict[str, Any], name: str, path: str) -> Iterator[Drift]:
    if name not in was:
        yield Drift(path=path, kind="added", now=now[name])
    elif name not in now:
        yield Drift(path=path, kind="dropped", was=was[name])
    else:
        yield from _drift(was[name], now[name], path)


def _of_lists(was: list[Any], now: list[Any], path: str) -> Iterator[Drift]:
    shared = min(len(was), len(now))
    for place in range(shared):
        yield from _drift(was[place], now[place], f"{path}[{place}]")
    for place in range(shared, len(was)):
        yield Drift(path=f"{path}[{place}]", kind="dropped", was=was[place])
    for place in range(shared, len(now)):
        yield Drift(path=f"{path}[{place}]", kind="added", now=now[place])
