"""Words of turns that ended long ago go, and conversations that nobody goes on with; their runs stay."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.db import connection

MOST_A_LOOK = 500
SHORTEST_SECONDS = 86_400.0
# A conversation in which nothing is asked for so long after its words are gone is forgotten; an empty one after a day.
QUIET_SECONDS = 30 * 86_400.0
ANY_NUMBER = 2_147_483_647

# A run recorded in full keeps its transcript. Of one recorded as metadata nothing but the answer was kept.
WORDS = """
WITH old AS MATERIALIZED (
    SELECT id, run_id FROM copilot_turn
        WHERE sealed IS NOT NULL AND ended_at < (SELECT liyagent_now()) - make_interval(secs => %s)
        ORDER BY ended_at LIMIT %s FOR UPDATE SKIP LOCKED
), answers AS (
    DELETE FROM transcripts_transcript t USING old, runs_run r
        WHERE t.run_id = old.run_id AND r.id = old.run_id AND r.recording <> 'full'
)
UPDATE copilot_turn SET sealed = NULL WHERE id = ANY (ARRAY(SELECT id FROM old))
"""
CONVERSATIONS = """
WITH old AS MATERIALIZED (
    SELECT c.id FROM copilot_conversation c
        WHERE c.changed_at < (SELECT liyagent_now()) - make_interval(secs => %s) AND c.turns <= %s
            AND NOT EXISTS (SELECT 1 FROM copilot_turn t
                WHERE t.conversation_id = c.id AND (t.ended_at IS NULL OR t.sealed IS NOT NULL))
        ORDER BY c.changed_at LIMIT %s FOR UPDATE OF c SKIP LOCKED
), turns AS (DELETE FROM copilot_turn WHERE conversation_id = ANY (ARRAY(SELECT id FROM old)))
DELETE FROM copilot_conversation WHERE id = ANY (ARRAY(SELECT id FROM old))
"""


def forget_old(give_up: Callable[[], bool], *, limit: int = MOST_A_LOOK) -> int:
    """Forget at most `limit` of each kind; return how many rows were touched."""
    kept = max(settings.LIYAGENT.answer_seconds, SHORTEST_SECONDS)
    due = [
        (WORDS, [kept, limit]),
        (CONVERSATIONS, [SHORTEST_SECONDS, 0, limit]),
        (CONVERSATIONS, [kept + QUIET_SECONDS, ANY_NUMBER, limit]),
    ]
    count = 0
    with connection.cursor() as cursor:
        for statement, values in due:
            if give_up():
                break
            cursor.execute(statement, values)
            count += cursor.rowcount
    return count
