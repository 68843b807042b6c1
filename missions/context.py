"""The ids of the request or run that the present code works for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """`mission` is empty where none was named; `request_id` is the client's, or our own."""

    request_id: str
    mission: str


NO_STAMP = Stamp(request_id="", mission="")
_stamp: ContextVar[Stamp] = ContextVar("liyagent_stamp", default=NO_STAMP)


def current_stamp() -> Stamp:
    """Return the stamp of what the present code works for; empty outside of a request."""
    return _stamp.get()


@contextmanager
def stamped(stamp: Stamp) -> Iterator[None]:
    """Work for `stamp` until the block ends."""
    token = _stamp.set(stamp)
    try:
        yield
    finally:
        _stamp.reset(token)
