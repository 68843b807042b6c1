"""What a guard is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """One guard. Replacing `search` by `replace` in `file` takes it out; each of `tests` then fails."""

    name: str
    file: str
    search: str
    replace: str
    tests: tuple[str, ...]
