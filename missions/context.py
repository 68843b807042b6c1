"""The ids of the request, run or job that the present code works for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """`mission` is empty where none was named; `request_id` is the client's, or our own; `address` is the client's.

    Within a run, `mission` is the run's (its correlation id where none was named), and `agent` its agent. `traceparent` is the
    client's place in its own trace, empty where it named none that fits.
    """

    request_id: str
    mission: str
    agent: str = ""
    address: str = ""
    correlation_id: UUID | None = None
    traceparent: str = ""

    @property
    def mission_of_work(self) -> str:
        """The mission of what is done for it: the named one, else the correlation id, else the request's id (MI-02)."""
        return self.mission or str(self.correlation_id or "") or self.request_id


NO_STAMP = Stamp(request_id="", mission="")
_stamp: ContextVar[Stamp] = ContextVar("liyagent_stamp", default=NO_STAMP)


def current_stamp() -> Stamp:
    """Return the stamp of what the present code works for; empty outside of a request, run or job."""
    return _stamp.get()


@contextmanager
def stamped(stamp: Stamp) -> Iterator[None]:
    """Work for `stamp` until the block ends. A thread that is started within begins without one."""
    token = _stamp.set(stamp)
    try:
        yield
    finally:
        _stamp.reset(token)
