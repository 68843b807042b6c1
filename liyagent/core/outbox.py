"""An outbox: rows that are owed to somebody outside, claimed under a lease, sent, settled; spaced out while it fails.

A claim is one conditional update: two processes never send one row at a time, and what a dead one claimed is due again.
The table has `id`, `state` (pending, delivered, dead, and what else its room wants), `created_at`, `next_at`, `give_up_at`,
`claimed_until`, `attempts` (every claim; it fences who settles), `failures`, `last_error`, `settled_at`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from django.db import connection

# The lease is longer than what leads to the first byte and the wait for an answer together.
LEASE_SECONDS, SENT_WITHIN_SECONDS, ANSWER_SECONDS = 60, 30.0, 10.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 5.0, 3_600.0

DUE = """SELECT d.id FROM {table} d
        WHERE d.state = 'pending' AND d.next_at <= (SELECT liyagent_now()){which}
            AND (d.claimed_until IS NULL OR d.claimed_until <= liyagent_now(){also_free})
            AND (d.created_at < liyagent_now() - interval '1 hour' OR NOT EXISTS (
                SELECT 1 FROM {table} e WHERE e.{of} = d.{of} AND e.state = 'pending' AND e.id < d.id{to}))
        ORDER BY d.next_at, d.id LIMIT 1"""
CLAIM = """
UPDATE {table} n SET attempts = n.attempts + 1, claimed_until = liyagent_now() + make_interval(secs => %s){claims}
    WHERE n.id = ({due} FOR UPDATE SKIP LOCKED)
    RETURNING n.id
"""
SETTLED = """
UPDATE {table} SET state = %s, settled_at = liyagent_now(), claimed_until = NULL, last_error = %s
    WHERE id = %s AND attempts = %s AND state = 'pending'
"""
FAILED = """
UPDATE {table} n SET failures = n.failures + 1, last_error = %s, claimed_until = NULL,
        next_at = least(it.now + make_interval(secs => %s), n.give_up_at),
        state = CASE WHEN it.now >= n.give_up_at THEN 'dead' ELSE 'pending' END,
        settled_at = CASE WHEN it.now >= n.give_up_at THEN it.now END
    FROM (SELECT liyagent_now() AS now OFFSET 0) AS it
    WHERE n.id = %s AND n.attempts = %s AND n.state = 'pending'
    RETURNING n.state
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbox:
    """The statements over one table. Of the rows with one `of`, the earlier is sent first, for an hour at most.

    SQL of its room: `to` says of which earlier rows `e` a row `d` waits, `claims` sets what else a claim notes, `which`
    says which rows are meant, `also_free` which claims are over before their time. The values of the last three are given
    to `claim`, in this order.
    """

    table: str
    of: str
    to: str = ""
    claims: str = ""
    which: str = ""
    also_free: str = ""

    @property
    def due_statement(self) -> str:
        """Which row is due longest; its values are those of `which` and `also_free`."""
        return DUE.format(
            table=self.table,
            of=self.of,
            to=self.to,
            which=self.which,
            also_free=self.also_free,
        )

    @property
    def claim_statement(self) -> str:
        """The claim; its first value are the seconds."""
        return CLAIM.format(table=self.table, claims=self.claims, due=self.due_statement)

    def claim(self, *values: Any) -> int | None:
        """Claim the row that is due longest for 60 s, and return its id."""
        with connection.cursor() as cursor:
            cursor.execute(self.claim_statement, [LEASE_SECONDS, *values])
            row = cursor.fetchone()
        return None if row is None else int(row[0])

    def settle(
        self, row_id: int, *, attempts: int, state: str = "delivered", why: str = ""
    ) -> bool:
        """End it as `state`; false where another claimed it meanwhile: then it is the other's to settle."""
        with connection.cursor() as cursor:
            cursor.execute(SETTLED.format(table=self.table), [state, why[:300], row_id, attempts])
            return bool(cursor.rowcount == 1)

    def fail(self, row_id: int, *, attempts: int, failures: int, why: str, pause: float) -> bool:
        """Have it due again, after `pause` seconds at least; return whether it is dead: given up."""
        wanted = max(pause_after(failures), min(pause, LONGEST_PAUSE_SECONDS))
        with connection.cursor() as cursor:
            cursor.execute(FAILED.format(table=self.table), [why[:300], wanted, row_id, attempts])
            row = cursor.fetchone()
        return bool(row == ("dead",))


def wanted_pause(told: str) -> float:
    """The seconds of a Retry-After, an hour at most; a date counts as none (RFC 9110, 10.2.3)."""
    is_number = told.isascii() and told.isdigit() and len(told) < 10
    return min(float(told), LONGEST_PAUSE_SECONDS) if is_number else 0.0


def pause_after(failures: int) -> float:
    """Twice as long each time, an hour at most, and by chance down to half of it: many do not come back at once."""
    pause: float = min(FIRST_PAUSE_SECONDS * 2 ** min(failures, 20), LONGEST_PAUSE_SECONDS)
    return pause * random.uniform(0.5, 1)  # noqa: S311 - spreads, and keeps no secret
