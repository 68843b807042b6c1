"""A background event loop of this process and what lives in it, begun by the first thread that needs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from threading import Lock
from typing import Generic, Protocol, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal


class Closing(Protocol):
    """What shuts its connections before its loop ends."""

    async def close(self) -> None:
        """Shut them."""
        ...


T = TypeVar("T", bound=Closing)


class Running(Generic[T]):
    """The portal into the loop, and what `make` made in it."""

    def __init__(self, name: str, make: Callable[[], Awaitable[T]]) -> None:
        """Begin nothing yet."""
        self._name = name
        self._make = make
        self._lock = Lock()
        self._stack = ExitStack()
        self._found: tuple[BlockingPortal, T] | None = None

    def found(self) -> tuple[BlockingPortal, T] | None:
        """Return both, None where nobody needed them yet."""
        return self._found

    def get(self) -> tuple[BlockingPortal, T]:
        """Return both, begun where they are not."""
        with self._lock:
            if self._found is None:
                portal = self._stack.enter_context(start_blocking_portal(name=self._name))
                self._found = portal, portal.call(self._make)
            return self._found

    def close(self) -> None:
        """Shut its connections and end the loop; the next call begins anew."""
        with self._lock:
            if self._found is not None:
                portal, made = self._found
                self._found = None
                portal.call(made.close)
            self._stack.close()
