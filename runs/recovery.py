"""How long lost runs wait for their next attempt, as far as one process sees it; and counts of claims and takes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from threading import Lock
from uuid import UUID

from liyagent.core.metrics import RECOVERY, RUNS_CLAIMED, RUNS_TAKEN
from runs.claim_spans import tell_claims

# Runs that this process claimed and that another one took are forgotten once so many came after them.
MOST_REMEMBERED = 1000
_claimed_at: dict[UUID, float] = {}
# Runs may be taken here before those that claimed them here get to say so: a thread may wait long for its turn.
TAKEN_FIRST_SECONDS = 1.0
_taken_at: dict[UUID, float] = {}
_lock = Lock()


def claimed(runs: Iterable[UUID], *, cause: str) -> None:
    """Count the runs just claimed here, and remember since when they wait."""
    runs, now = list(runs), time.monotonic()
    tell_claims(runs, cause=cause)
    with _lock:
        for run in runs:
            RUNS_CLAIMED.of(cause).inc()
            taken_at = _taken_at.pop(run, -math.inf)
            if now - taken_at < TAKEN_FIRST_SECONDS:
                RECOVERY.observe(0)
            else:
                _remember(_claimed_at, run, now)


def taken(run: UUID, *, attempt: int) -> None:
    """Count a run just taken here; one that was claimed here tells how long that took."""
    RUNS_TAKEN.of("fresh" if attempt == 1 else "again").inc()
    if attempt == 1:
        return
    now = time.monotonic()
    with _lock:
        since = _claimed_at.pop(run, None)
        if since is None:
            _remember(_taken_at, run, now)
    if since is not None:
        RECOVERY.observe(now - since)


def _remember(moments: dict[UUID, float], run: UUID, now: float) -> None:
    moments[run] = now
    while len(moments) > MOST_REMEMBERED:
        del moments[next(iter(moments))]
