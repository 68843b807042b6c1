"""Wait for a run to end, without a thread's database connection or a transaction."""

from __future__ import annotations

import time
from uuid import UUID

from django.conf import settings
from django.db import connection
from psycopg import OperationalError

from liyagent.core.database import hot_pool
from liyagent.core.readiness import STATE
from liyagent.core.transactions import forbid_transaction
from runs.models import ENDED

FIRST_PAUSE_SECONDS = 0.05


def wait_for_end(run_id: UUID, *, seconds: float) -> bool:
    """Return whether the run ended within `seconds`, or before this process began to drain.

    Asks seldomer and seldomer, up to every poll interval. The present thread's connection is given back
    first; each question borrows one of the pool.
    """
    forbid_transaction("waiting for a run")
    connection.close()
    until = time.monotonic() + seconds
    pause = FIRST_PAUSE_SECONDS
    while True:
        if _has_ended(run_id):
            return True
        left = until - time.monotonic()
        if left <= 0 or STATE.is_draining:
            return False
        time.sleep(min(pause, left))
        pause = min(pause * 1.5, settings.LIYAGENT.poll_seconds)


def _has_ended(run_id: UUID) -> bool:
    try:
        with hot_pool().connection() as borrowed:
            row = borrowed.execute("SELECT status FROM runs_run WHERE id = %s", [run_id]).fetchone()
    except OperationalError:
        # The run is stored and goes on; a database away for a moment only means not to know yet.
        return False
    return row is not None and row[0] in ENDED
