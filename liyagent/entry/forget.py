"""Forget what is over: answers that were handed on, deliveries, arrivals; bounded, oldest first (CR-08)."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.db import connection

# Of those given up a person may still want to send one again. No sender repeats a delivery after a month.
DEAD_SECONDS, ARRIVAL_SECONDS = 30 * 86_400.0, 30 * 86_400.0
MOST_A_LOOK = 500

# An answer of a run recorded in full is its transcript, and stays. Of one recorded as metadata nothing else was kept. What was
# handed on while the run went on was not yet its answer: its end counts as well.
DELIVERIES = """
WITH gone AS (
    DELETE FROM entry_delivery WHERE id IN (SELECT id FROM entry_delivery d
        WHERE state IN ({states})
            AND settled_at < (SELECT liyagent_now()) - make_interval(secs => %s)
            AND NOT EXISTS (SELECT 1 FROM runs_run o WHERE o.id = d.run_id
                AND (o.ended_at IS NULL OR o.ended_at >= (SELECT liyagent_now()) - make_interval(secs => %s)))
        ORDER BY settled_at LIMIT %s FOR UPDATE OF d SKIP LOCKED)
    RETURNING id, run_id
), words AS (
    DELETE FROM transcripts_transcript t USING gone g, runs_run r
        WHERE t.run_id = g.run_id AND r.id = g.run_id AND r.recording <> 'full' AND NOT EXISTS (
            SELECT 1 FROM entry_delivery d WHERE d.run_id = g.run_id AND d.id NOT IN (SELECT id FROM gone))
)
SELECT count(*) FROM gone
"""
ANSWERS = DELIVERIES.format(states="'delivered'")
DEAD = DELIVERIES.format(states="'unconfirmed', 'dead', 'closed'")
ARRIVALS = """
DELETE FROM entry_arrival WHERE run_id IN (SELECT run_id FROM entry_arrival
    WHERE state IN ('ended', 'refused', 'skipped') AND ended_at < (SELECT liyagent_now()) - make_interval(secs => %s)
    ORDER BY ended_at LIMIT %s FOR UPDATE SKIP LOCKED)
"""


def forget_old(give_up: Callable[[], bool], *, limit: int = MOST_A_LOOK) -> int:
    """Forget at most `limit` of each kind, and return how many rows went.

    A delivery, and with the last of a run its answer where that is recorded as metadata, goes `LIYAGENT_ANSWER_DAYS` after
    it was handed on and the run has ended; one that was given up after 30 days, an arrival 30 days after it ended. What
    belongs to a run that goes on stays: its card is still brought up to date.
    """
    count = 0
    due = [(ANSWERS, settings.LIYAGENT.answer_seconds), (DEAD, DEAD_SECONDS)]
    with connection.cursor() as cursor:
        for statement, seconds in due:
            if give_up():
                return count
            cursor.execute(statement, [seconds, seconds, limit])
            count += cursor.fetchone()[0]
        if not give_up():
            cursor.execute(ARRIVALS, [ARRIVAL_SECONDS, limit])
            count += cursor.rowcount
    return count
