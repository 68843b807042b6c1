"""Which sealing keys are still needed, and who knows them: what must be known before a key may go (FL-41)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.conf import settings
from django.db import connection

from events.reseal_heads import heads_by_key
from runs.reseal_sagas import sagas_by_key
from runs.sealed_rows import rows_by_key

USES = """
SELECT key_id, count(*) FILTER (WHERE status = 'running'), count(*) FILTER (WHERE status = 'queued'),
    count(*) FILTER (WHERE status = 'waiting'), count(*) FILTER (WHERE status = 'paused'),
    count(*) FILTER (WHERE ended_at IS NOT NULL)
FROM runs_run GROUP BY key_id
"""
REQUESTS = "SELECT key_id, count(*) FROM approvals_approval GROUP BY key_id"
KNOWN_BY = """
SELECT k.id, count(*) FROM leases_holder h, unnest(h.key_ids) AS k(id) WHERE h.renew_by > liyagent_now() GROUP BY k.id
"""
LIVING = "SELECT count(*) FROM leases_holder WHERE renew_by > liyagent_now()"
IGNORANT = """
SELECT name FROM leases_holder WHERE renew_by > liyagent_now() AND NOT (%s = ANY (key_ids)) ORDER BY name LIMIT 10
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyUse:
    """One key: how many runs of each kind are sealed with it, and how many of the living processes know it.

    `ended` runs keep transcript and calls under it, `requests` for approval the arguments that they show, `rows` of the ways in their words, and of event chains where they stood. `is_here`: it is on this shell's own ring; the first
    of that ring seals.
    """

    key_id: str
    is_here: bool
    seals: bool
    known_by: int
    processes: int
    running: int = 0
    queued: int = 0
    waiting: int = 0
    paused: int = 0
    ended: int = 0
    requests: int = 0
    rows: int = 0

    @property
    def is_needed(self) -> bool:
        """Whether something would be unreadable without it."""
        runs = (self.running, self.queued, self.waiting, self.paused, self.ended)
        return any((*runs, self.requests, self.rows))


def key_uses() -> list[KeyUse]:
    """Return every key that a run, a living process or this ring names: this ring's first, in its order.

    Reads the heads of all runs, all requests and what the ways in keep once, so it takes a second with a million of them.
    """
    ring = [name for name, _ in settings.LIYAGENT.seal_keys]
    with connection.cursor() as cursor:
        cursor.execute(USES)
        uses = {row[0]: row[1:] for row in cursor.fetchall()}
        cursor.execute(REQUESTS)
        requests = dict(cursor.fetchall())
        cursor.execute(KNOWN_BY)
        known = dict(cursor.fetchall())
        cursor.execute(LIVING)
        living = int(cursor.fetchone()[0])
    rows = Counter(rows_by_key()) + Counter(heads_by_key()) + Counter(sagas_by_key())
    others = sorted((uses.keys() | requests.keys() | rows.keys() | known.keys()) - set(ring))
    return [
        KeyUse(
            key_id=key_id,
            is_here=key_id in ring,
            seals=key_id == ring[0],
            known_by=known.get(key_id, 0),
            processes=living,
            requests=requests.get(key_id, 0),
            rows=rows.get(key_id, 0),
            **dict(
                zip(
                    ("running", "queued", "waiting", "paused", "ended"),
                    uses.get(key_id, (0,) * 5),
                    strict=True,
                )
            ),
        )
        for key_id in (*ring, *others)
    ]


def processes_without(key_id: str) -> list[str]:
    """Return the names of living processes that do not know a key, at most ten."""
    with connection.cursor() as cursor:
        cursor.execute(IGNORANT, [key_id])
        return [row[0] for row in cursor.fetchall()]
