"""How long one model step may take, asked again and again while its answer is waited for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from liyagent.providers.types import AnswerUnwanted, ModelRequest, ModelUnavailable

# Between two pieces of a stream; before the first one, the step's own limit counts.
IDLE_SECONDS = 60.0
# What follows the end of a stream is read so long, to use the connection again.
REST_SECONDS = 0.2


class Patience:
    """The limits of one step: its whole time, the time between two pieces, and whether it is wanted at all."""

    def __init__(self, request: ModelRequest) -> None:
        """Begin to count now."""
        self._request = request
        self._until = time.monotonic() + request.timeout_seconds
        self._heard_at: float | None = None

    @property
    def left_seconds(self) -> float:
        """What is left of the step's time. Raises `ModelUnavailable` where nothing is."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise timed_out(self._request)
        return left

    def heard(self) -> None:
        """A piece of a stream came."""
        self._heard_at = time.monotonic()

    def shorten(self) -> None:
        """The answer is there; little more is waited for."""
        self._until = min(self._until, time.monotonic() + REST_SECONDS)

    def check(self) -> None:
        """Raise `ModelUnavailable` where time is up; while streaming, `AnswerUnwanted` where nobody waits."""
        now = time.monotonic()
        if now > self._until:
            raise timed_out(self._request)
        if not self._request.is_streaming:
            return
        if self._request.is_unwanted():
            raise AnswerUnwanted
        if self._heard_at is not None and now > self._heard_at + IDLE_SECONDS:
            raise ModelUnavailable(f"the model's answer stalled for {IDLE_SECONDS:g} s")


def timed_out(request: ModelRequest) -> ModelUnavailable:
    """Return the error of a step that took longer than its time."""
    return ModelUnavailable(f"the model did not answer within {request.timeout_seconds:g} s")


_running: ContextVar[Patience | None] = ContextVar("patience", default=None)


def check_running() -> None:
    """Ask the patience of the step that this thread waits for; the HTTP client calls it while it reads."""
    patience = _running.get()
    if patience is not None:
        patience.check()


@contextmanager
def waiting(patience: Patience) -> Iterator[None]:
    """While inside, this thread's HTTP clients ask `patience`."""
    token = _running.set(patience)
    try:
        yield
    finally:
        _running.reset(token)
