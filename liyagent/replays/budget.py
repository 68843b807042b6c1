"""What the replays of a cohort may ask of models altogether, counted side by side. Pure."""

from __future__ import annotations

from threading import Lock


class Budget:
    """Counts model calls and tokens of runs that are replayed at once; 0 is no bound.

    A run that was begun is replayed to its end: once a bound `is_reached`, no other is to be begun.
    """

    def __init__(self, *, most_calls: int = 0, most_tokens: int = 0) -> None:
        """Begin at nothing; what was spent before is told by `spend`."""
        self.calls = 0
        self.tokens = 0
        self._most_calls, self._most_tokens = most_calls, most_tokens
        self._lock = Lock()

    def spend(self, *, calls: int, tokens: int) -> None:
        """Count what was asked."""
        with self._lock:
            self.calls += calls
            self.tokens += tokens

    @property
    def is_reached(self) -> bool:
        """Whether a bound is."""
        has_called = bool(self._most_calls) and self.calls >= self._most_calls
        return has_called or (bool(self._most_tokens) and self.tokens >= self._most_tokens)
