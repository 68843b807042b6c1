"""Forget cohort replays of long ago, results and words with them; never the newest that says of a change whether an agent, as it stands, may take it."""

from __future__ import annotations

from collections.abc import Callable

from django.db import connection

# Past their jobs, which are forgotten 90 days after their end.
FORGET_SECONDS, MOST_A_LOOK = 97 * 86_400.0, 20
# A verdict over the version that an agent stands at may be asked for any day: the newest of each override, a regression too, since
# without it one before would speak.
FORGET = """
WITH old AS (
    SELECT c.id FROM replays_cohortreplay c
        WHERE c.ended_at IS NOT NULL AND c.ended_at < (SELECT liyagent_now()) - make_interval(secs => %s)
            AND NOT (c.status = 'done' AND EXISTS (
                SELECT FROM agents_agent a WHERE a.key = c.agent_key AND a.version = c.agent_version)
                AND NOT EXISTS (SELECT FROM replays_cohortreplay n WHERE n.agent_key = c.agent_key
                    AND n.agent_version = c.agent_version AND n.status = 'done' AND n.override = c.override
                    AND (n.created_at, n.id) > (c.created_at, c.id)))
        ORDER BY c.ended_at LIMIT %s FOR UPDATE SKIP LOCKED),
results AS (DELETE FROM replays_replayed r USING old WHERE r.cohort_id = old.id)
DELETE FROM replays_cohortreplay c USING old WHERE c.id = old.id
"""


def forget_replays(_give_up: Callable[[], bool], *, limit: int = MOST_A_LOOK) -> int:
    """Forget at most `limit` replays that ended 97 days ago, and return how many went."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET, [FORGET_SECONDS, limit])
        return int(cursor.rowcount)
