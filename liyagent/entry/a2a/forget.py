"""Tasks that ended long ago are forgotten; their runs are not."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.db import connection

MOST_A_LOOK = 500
SHORTEST_SECONDS = 86_400.0
FORGET = """
WITH old AS MATERIALIZED (
    SELECT run_id FROM a2a_task WHERE ended_at < (SELECT liyagent_now()) - make_interval(secs => %s)
        ORDER BY ended_at LIMIT %s FOR UPDATE SKIP LOCKED
), configs AS (DELETE FROM a2a_pushconfig WHERE task_id = ANY (ARRAY(SELECT run_id FROM old)))
DELETE FROM a2a_task WHERE run_id = ANY (ARRAY(SELECT run_id FROM old))
"""


def forget_old(_give_up: Callable[[], bool]) -> int:
    """Forget tasks that ended `LIYAGENT_ANSWER_DAYS` ago, a day at least, with whom they told; return how many."""
    kept = max(settings.LIYAGENT.answer_seconds, SHORTEST_SECONDS)
    with connection.cursor() as cursor:
        cursor.execute(FORGET, [kept, MOST_A_LOOK])
        return int(cursor.rowcount)
