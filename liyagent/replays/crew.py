"""Work that is done side by side in threads of a moment, which nobody waits for at the end of the process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Generic, Self, TypeVar

from django.db import connection

from liyagent.jobs.errors import JobFailed
from missions.context import Stamp, stamped

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(Generic[K, T]):
    """One piece of work that ended: with what it made, or with what it raised."""

    key: K
    made: T | None
    error: BaseException | None

    def check(self) -> None:
        """Raise what it raised; what would end its thread ends no other. Raises `JobFailed`."""
        if isinstance(self.error, Exception):
            raise self.error
        if self.error is not None:
            said = f"{type(self.error).__name__}: {self.error}"
            raise JobFailed(f"a run could not be replayed: {said}") from self.error


class Crew(Generic[K, T]):
    """Begins work in threads and tells what ended. Each thread has a database connection of its own, closed at its end."""

    def __init__(self, *, name: str, stamp: Stamp) -> None:
        """`stamp` is whose work it is."""
        self._name, self._stamp = name, stamp
        self._ended: SimpleQueue[Ended[K, T]] = SimpleQueue()
        self._over = threading.Event()
        self.at_work: set[K] = set()

    @property
    def is_over(self) -> bool:
        """Whether nobody wants what is under way any more."""
        return self._over.is_set()

    def begin(self, key: K, work: Callable[[], T]) -> None:
        """Do it in a thread; what it raises is told as what it made is."""
        self.at_work.add(key)
        threading.Thread(target=self._do, args=(key, work), name=self._name, daemon=True).start()

    def next_ended(self, *, seconds: float) -> Ended[K, T] | None:
        """Return what ended next, None where nothing did for so long."""
        try:
            ended = self._ended.get(timeout=seconds)
        except Empty:
            return None
        self.at_work.discard(ended.key)
        return ended

    def stop(self) -> None:
        """Tell all of them to leave off; what they still make is thrown away."""
        self._over.set()

    def _do(self, key: K, work: Callable[[], T]) -> None:
        told = _Told[T]()
        with told, stamped(self._stamp):
            told.made = work()
        try:
            connection.close()
        finally:
            # Whoever carries the job waits for it.
            self._ended.put(Ended(key=key, made=told.made, error=told.error))


class _Told(Generic[T]):
    """Takes note of what is raised within, for the thread that asks."""

    made: T | None = None
    error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.error = error
        return True
