"""How fast this process asks one endpoint, after the endpoint said that it is asked too much.

Many runs may come to one endpoint at once, above all when they are resumed together. Once it answers 429 (or
503, 529), they go one by one, behind the moment that it named, and closer together as it answers again.
"""

from __future__ import annotations

import functools
import threading
import time

FIRST_GAP_SECONDS, LONGEST_GAP_SECONDS = 0.05, 2.0
BUSY = frozenset({429, 503, 529})


class Pace:
    """One endpoint's: threads share it."""

    def __init__(self) -> None:
        """Nothing holds anybody back yet."""
        self._lock = threading.Lock()
        self._gap = 0.0
        self._next_at = 0.0
        self._narrowed_at = 0.0

    def turn(self) -> float:
        """Take the next turn; return how many seconds it is away."""
        with self._lock:
            if not self._gap:
                return 0.0
            now = time.monotonic()
            at = max(now, self._next_at)
            self._next_at = at + self._gap
            return at - now

    def refused(self, *, asked_at: float, wait_seconds: float) -> None:
        """The endpoint was busy: nobody asks before it said, and then one by one.

        A crowd that asked before the pace was last slowed (`asked_at`, monotonic) does not slow it again.
        """
        with self._lock:
            now = time.monotonic()
            self._next_at = max(self._next_at, now + wait_seconds)
            if asked_at >= self._narrowed_at:
                self._gap = min(max(2 * self._gap, FIRST_GAP_SECONDS), LONGEST_GAP_SECONDS)
                self._narrowed_at = now

    def answered(self) -> None:
        """The endpoint answered: closer together from here on, and freely once nobody waits for a turn."""
        with self._lock:
            if self._gap > FIRST_GAP_SECONDS:
                self._gap /= 2
            elif self._next_at <= time.monotonic():
                self._gap = 0.0


@functools.lru_cache(maxsize=256)
def pace_of(*, provider: str, base_url: str, api_key_env: str) -> Pace:
    """Return the pace of an endpoint and key in this process."""
    del provider, base_url, api_key_env
    return Pace()
