"""What a page costs: its statements, the pages of tables and indexes that they touch, and milliseconds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

ROUNDS = 5
READS = ("SELECT", "WITH")


def asked(ask: Callable[[], object], *, rounds: int = ROUNDS) -> dict[str, float]:
    """Ask some times; return `ms` (the median), `statements`, and how many `blocks` of 8 KB they touch: of tables and indexes.

    Blocks are those of `EXPLAIN (ANALYZE, BUFFERS)` over each statement that reads, in the server's memory or not.
    """
    took = [_ms(ask) for _ in range(rounds)]
    cache.clear()
    with CaptureQueriesContext(connection) as queries:
        ask()
    reads = [it for it in (_read_by(query["sql"]) for query in queries) if it]
    return {
        "ms": statistics.median(took),
        "statements": len(queries),
        "blocks": sum(map(blocks_of, reads)),
    }


def blocks_of(sql: str, values: Any = None) -> int:
    """Return how many blocks a statement touches. It is carried out."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {sql}", values)
        plan: dict[str, Any] = cursor.fetchone()[0][0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def _read_by(sql: str) -> str:
    """The question that a statement asks, that of a cursor too; empty for one that asks none."""
    question = sql.partition("CURSOR FOR ")[2] if sql.startswith("DECLARE") else sql
    return question if question.lstrip().startswith(READS) else ""


def _ms(ask: Callable[[], object]) -> float:
    cache.clear()
    began = time.monotonic()
    ask()
    return (time.monotonic() - began) * 1000
