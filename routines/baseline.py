"""What the runs that a routine was compiled from took: what its own runs are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection

# Of a family's runs each used tokens; the time is the root's, from when it was taken up.
AVERAGE = """
SELECT count(*), avg(extract(epoch FROM r.ended_at - COALESCE(r.taken_at, r.created_at)))::float8, avg(r.input_tokens + r.output_tokens)::float8
    FROM runs_run r WHERE r.id = ANY (%s) AND r.ended_at IS NOT NULL
"""


def baseline_of(run_ids: Sequence[str]) -> dict[str, Any]:
    """Return how many of the runs are still kept, and the seconds and tokens that one took on average; `{}` where none is."""
    with connection.cursor() as cursor:
        cursor.execute(AVERAGE, [[UUID(it) for it in run_ids]])
        runs, seconds, tokens = cursor.fetchone()
    if not runs:
        return {}
    return {"runs": runs, "seconds": round(seconds, 3), "tokens": round(tokens)}
