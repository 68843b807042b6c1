"""Start the run of a task, once however many do so at the same moment."""

from __future__ import annotations

from uuid import UUID

from psycopg.errors import UniqueViolation

from liyagent.entry.begin import begin_arrival


def begin_once(run_id: UUID) -> None:
    """Start what has arrived; where another request or process stored the run meanwhile, find it started."""
    try:
        begin_arrival(run_id)
    except UniqueViolation:
        # It was not there when this one looked, and is now.
        begin_arrival(run_id)
