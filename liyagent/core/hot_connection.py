"""A connection on which something of ours is done while the server is at a statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from psycopg import Connection
from psycopg.abc import PQGen

T = TypeVar("T")


class HotConnection(Connection[tuple[Any, ...]]):
    """A psycopg connection as it is, with `execute_meanwhile` beside `execute`."""

    _meanwhile: Callable[[], None] | None = None

    def execute_meanwhile(
        self, sql: str, values: Sequence[Any], meanwhile: Callable[[], None]
    ) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows; `meanwhile` is called once it has left, before its answer is waited for.

        What `meanwhile` raises ends the statement's wait: whether the statement was carried out is then unknown.
        """
        self._meanwhile = meanwhile
        try:
            return self.execute(sql, values, binary=True).fetchall()
        finally:
            self._meanwhile = None

    def wait(self, gen: PQGen[T], *limits: Any, **more: Any) -> T:
        """Consume a generator that talks to the server, as psycopg's own."""
        meanwhile, self._meanwhile = self._meanwhile, None
        return super().wait(_with(meanwhile, gen) if meanwhile else gen, *limits, **more)


def _with(meanwhile: Callable[[], None], talk: PQGen[T]) -> PQGen[T]:
    """The same talk; at its first pause all that was to be sent is sent."""
    try:
        wanted = next(talk)
        meanwhile()
        while True:
            wanted = talk.send((yield wanted))
    except StopIteration as end:
        return cast(T, end.value)
