"""Forget cohort replays of long ago, results and words with them; never one that gives leave to change an agent as it stands."""

from __future__ import annotations

from collections.abc import Callable

from django.db import connection

# Past their jobs, which are forgotten 90 days after their end.
FORGET_SECONDS, MOST_A_LOOK = 97 * 86_400.0, 20
# A verdict over the version that an agent stands at may be asked for any day.
FORGET = """
WITH old AS (
    SELECT c.id FROM replays_cohortreplay c
        WHERE c.ended_at IS NOT NULL AND c.ended_at < (SELECT liyagent_now()) - make_interval(secs => %s)
            AND NOT (c.status = 'done' AND c.verdict IN ('same', 'changed') AND EXISTS (
                SELECT FROM agents_agent a WHERE a.key = c.agent_key AND a.version = c.agent_version))
        ORDER BY c.ended_at LIMIT %s FOR UPDATE SKIP LOCKED),
results AS (DELETE FROM replays_replayed r USING old WHERE r.cohort_id = old.id)
DELETE FROM replays_cohortreplay c USING old WHERE c.id = old.id
"""


def forget_replays(_give_up: Callable[[], bool], *, limit: int = MOST_A_LOOK) -> int:
    """Forget at most `limit` replays that ended 97 days ago, and return how many went."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET, [FORGET_SECONDS, limit])
        return int(cursor.rowcount)
