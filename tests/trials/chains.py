"""Whether the event chains of all runs verify, recomputed outside the database (EV-05)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import namedtuple_row

from events.chain import first_break

EVENTS = "SELECT * FROM events_runevent WHERE correlation_id = %s ORDER BY number"
HEAD = "SELECT count, hash FROM events_eventhead WHERE correlation_id = %s"
CHAINS = "SELECT correlation_id FROM runs_run WHERE id = ANY(%s)"
GAPS = "SELECT count(*) AS n FROM events_runevent WHERE run_id = ANY(%s) AND kind = 'gap'"


def check_chains(database_url: str, runs: Sequence[UUID]) -> tuple[tuple[str, ...], int]:
    """Return the correlation ids whose chain breaks, and how many gaps were written."""
    ids = list(runs)
    with psycopg.connect(database_url, autocommit=True, row_factory=namedtuple_row) as opened:
        connection: psycopg.Connection[Any] = opened
        chains = [row.correlation_id for row in connection.execute(CHAINS, [ids])]
        broken = tuple(str(it) for it in chains if not _is_whole(connection, it))
        gaps = connection.execute(GAPS, [ids]).fetchone()
    return broken, gaps.n if gaps else 0


def _is_whole(connection: psycopg.Connection[Any], correlation_id: UUID) -> bool:
    rows = connection.execute(EVENTS, [correlation_id]).fetchall()
    head = connection.execute(HEAD, [correlation_id]).fetchone()
    return first_break(rows, correlation_id=correlation_id, head=head) is None
