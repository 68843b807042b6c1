"""Wake who sleeps on what has come already: every wake is in the commit of what it tells, and rows can be edited (ruling 39)."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg

logger = logging.getLogger(__name__)

MOST_LOOKED_AT = 200
# One snapshot: a decision or a child's end and the wake for it are one commit, so that both are seen or neither.
ASLEEP = """
SELECT a.created_at, a.id, NOT EXISTS (SELECT FROM runs_call c WHERE c.run_id = a.id AND c.fate = '' AND CASE c.intent
        WHEN 'held' THEN EXISTS (SELECT FROM approvals_approval p WHERE p.id = c.approval_id AND p.status = 'pending')
        ELSE EXISTS (SELECT FROM runs_run below WHERE below.correlation_id = a.correlation_id
            AND below.loop = c.step_key AND below.ended_at IS NULL) END)
    FROM (SELECT r.created_at, r.id, r.correlation_id FROM runs_run r
        WHERE r.status = 'waiting' AND (r.created_at, r.id) < (%s::timestamptz, %s)
        ORDER BY r.created_at DESC, r.id DESC LIMIT %s) AS a
"""
# One that somebody has in hand is found by the next round.
WAKE = """
SELECT liyagent_wake(r.id) FROM (
    SELECT id FROM runs_run WHERE id = %s AND status = 'waiting' FOR NO KEY UPDATE SKIP LOCKED) AS r
"""
FROM_THE_NEWEST: tuple[datetime | str, UUID] = ("infinity", UUID(int=(1 << 128) - 1))


class Sleepers:
    """The leader's look at waiting runs, `most` at a time, from the newest to the oldest and then anew."""

    def __init__(self, *, most: int = MOST_LOOKED_AT) -> None:
        """Begin with the newest."""
        self.most = most
        self._last = FROM_THE_NEWEST

    @staticmethod
    def statement() -> str:
        """Return what a look asks."""
        return ASLEEP

    def values(self) -> tuple[Any, ...]:
        """Return where the next look goes on."""
        return (*self._last, self.most)

    def wake(self, sql: psycopg.Connection) -> list[UUID]:
        """Look at the next ones; return those that were woken, for what they wait for waits no more."""
        rows = sql.execute(ASLEEP, self.values()).fetchall()
        self._last = (rows[-1][0], rows[-1][1]) if len(rows) == self.most else FROM_THE_NEWEST
        woken = [
            run for _, run, has_come in rows if has_come and sql.execute(WAKE, (run,)).fetchall()
        ]
        for run in woken:
            logger.error(
                "run %s slept on what had come already: its rows were changed; it is woken", run
            )
        return woken
