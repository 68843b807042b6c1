"""Death hinted at by a life-lock that nobody keeps, across hosts (ruling 3b)."""

from __future__ import annotations

import logging
import time
from uuid import UUID

import psycopg
from django.conf import settings

from runs.recovery import claimed
from runs.sweep import MOST_CLAIMS

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
# Looked at from so long before the end of a lease on that both looks can be had when it ends.
SOON_SECONDS = 2 * LOOK_SECONDS
SILENT = "SELECT holder, life_lock FROM liyagent_silent_holders(%s, %s)"
CLAIM_HINTED = "SELECT run FROM liyagent_claim_hinted(%s, %s, %s, %s)"


class Hints:
    """What one watcher has seen of life-locks. It looks, and never tries a lock."""

    def __init__(self) -> None:
        """Nothing is seen yet."""
        self._free_since: dict[tuple[UUID, int], float] = {}
        self._looked_at = -LOOK_SECONDS

    def forget(self) -> None:
        """Begin anew: what was seen over a connection that is gone says nothing."""
        self._free_since.clear()

    def claim_silent(self, connection: psycopg.Connection, *, watcher: UUID) -> list[UUID]:
        """Queue again what a silent holder held, and return the runs: at most 200 of each.

        Silent is one whose lock was free in two looks 0.5 s apart and whose lease has passed. Claims nothing until
        `connection` is older than a lease and a sweep. Raises psycopg's errors.
        """
        now = time.monotonic()
        if now - self._looked_at < LOOK_SECONDS and not self._free_since:
            return []
        self._looked_at = now
        rows = connection.execute(SILENT, (watcher, SOON_SECONDS)).fetchall()
        self._free_since = {
            (holder, key): self._free_since.get((holder, key), now) for holder, key in rows
        }
        grace = settings.LIYAGENT.lease_seconds + settings.LIYAGENT.sweep_seconds
        runs: list[UUID] = []
        for (holder, key), since in self._free_since.items():
            if now - since >= LOOK_SECONDS:
                values = (holder, key, MOST_CLAIMS, grace)
                found = connection.execute(CLAIM_HINTED, values).fetchall()
                runs += [row[0] for row in found]
        if runs:
            logger.warning("claimed %d runs: their process fell silent", len(runs))
            claimed(runs, cause="hint")
        return runs
