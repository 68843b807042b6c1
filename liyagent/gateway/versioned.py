"""What was read from the tables, kept by configuration version: a change raises the version (ruling 5)."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections

MOST_VERSIONS = 4

T = TypeVar("T")


class ByVersion(Generic[T]):
    """The result of `load(version)` for each of the last few configuration versions; one thread loads it."""

    def __init__(self, load: Callable[[int], T]) -> None:
        self._load = load
        self._lock = Lock()
        self._kept: dict[tuple[str, int], T] = {}
        self._newest: tuple[str, int] | None = None

    def at(self, version: int) -> T:
        """Return what stood in the tables at `version` (or was changed since: never anything older)."""
        key = (_database(), version)
        found = self._kept.get(key)
        return found if found is not None else self._load_at(key)

    def newest(self) -> T | None:
        """Return what was loaded for the highest version so far, None if nothing was."""
        key = self._newest
        return self._kept.get(key) if key else None

    def newest_version(self) -> int | None:
        """Return the highest version of this database that was loaded so far, None if none was."""
        key = self._newest
        return key[1] if key and key[0] == _database() else None

    def forget(self) -> None:
        """Drop everything: for a process that changed databases."""
        with self._lock:
            self._kept = {}
            self._newest = None

    def _load_at(self, key: tuple[str, int]) -> T:
        with self._lock:
            if key not in self._kept:
                loaded = self._load(key[1])
                self._kept = dict([*self._kept.items(), (key, loaded)][-MOST_VERSIONS:])
                if self._newest is None or self._newest[0] != key[0] or self._newest[1] < key[1]:
                    self._newest = key
            return self._kept[key]


def _database() -> str:
    """The database's name is part of each key: two databases count their versions apart.

    From the settings: `connection` is looked up anew for each thread, which a step would pay ten times.
    """
    return str(connections.settings[DEFAULT_DB_ALIAS]["NAME"])
