"""How long lost runs wait for their next attempt, as far as one process sees it; and counts of claims and takes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from threading import Lock
from uuid import UUID

from liyagent.core.metrics import RECOVERY, RUNS_CLAIMED, RUNS_TAKEN

# Runs that this process claimed and that another one took are forgotten once so many came after them.
MOST_REMEMBERED = 1000
_claimed_at: dict[UUID, float] = {}
_lock = Lock()


def claimed(runs: Iterable[UUID], *, cause: str) -> None:
    """Count the runs just claimed here, and remember since when they wait."""
    now = time.monotonic()
    with _lock:
        for run in runs:
            RUNS_CLAIMED.of(cause).inc()
            _claimed_at[run] = now
        while len(_claimed_at) > MOST_REMEMBERED:
            del _claimed_at[next(iter(_claimed_at))]


def taken(run: UUID, *, attempt: int) -> None:
    """Count a run just taken here; one that was claimed here before tells how long that took."""
    RUNS_TAKEN.of("fresh" if attempt == 1 else "again").inc()
    if not _claimed_at:
        return
    with _lock:
        since = _claimed_at.pop(run, None)
    if since is not None:
        RECOVERY.observe(time.monotonic() - since)
