"""Rows that nobody wrote so: the processes that find them live on, and do what else is theirs."""

from __future__ import annotations

import pytest

from tests.processes.place import Place

pytestmark = [pytest.mark.timeout(180)]

# Deliveries whose address names nothing; jobs that have ended, and whose cursor is another release's; an arrival without words.
ROWS = {
    "deliveries": """
INSERT INTO entry_delivery (run_id, way, kind, address, state, created_at, next_at, give_up_at, number)
    SELECT gen_random_uuid(), way, kind, address::jsonb, 'pending', liyagent_now(), liyagent_now(), liyagent_now() + interval '1 day', 0
    FROM (VALUES ('a2a', 'push', '{}'), ('a2a', 'push', '[]'), ('teams', 'answer', '{}'), ('teams', 'nothing', '{"approval": 7}'))
        AS it (way, kind, address) RETURNING id
""",
    "a job": """
INSERT INTO jobs_job (id, kind, subject, params, cursor, status, done, words, attempt, losses, losses_here, next_at, asked_by,
        mission, reason, created_at, ended_at, after_end_at)
    SELECT gen_random_uuid(), kind, 'triage', params::jsonb, '{"of_another_release": 1}', 'failed', 0, '', 1, 0, 0, liyagent_now(), 'admin',
        '', '', liyagent_now(), liyagent_now(), liyagent_now()
    FROM (VALUES ('fine_tune', '{"agent": "triage"}'), ('classifier_training', '{"input": "first"}')) AS it (kind, params)
    RETURNING id
""",
    "an arrival": """
INSERT INTO entry_arrival (run_id, way, source, delivery_id, body_digest, agent_key, started_by, mission, request_id, sealed, key_id,
        state, reason, outcome, received_at, next_at, give_up_at, attempts)
    VALUES (gen_random_uuid(), 'webhook', 'odd', 'odd', '', 'triage', 'admin', '', '', NULL, 'no such key', 'received', '', '',
        liyagent_now(), liyagent_now(), liyagent_now(), 0) RETURNING run_id
""",
}
TRIED = """
SELECT count(*)::int AS n FROM entry_delivery WHERE id = ANY(%s) AND attempts > 0 AND claimed_until IS NULL
"""
OWED = (
    "SELECT count(*)::int AS n FROM jobs_job WHERE id = ANY(%s) AND after_end_at > liyagent_now()"
)


def test_a_row_that_cannot_be_used_ends_no_process(place: Place) -> None:
    before = [place.stage.pid(it) for it in "AB"]
    kept = {
        what: [next(iter(it.values())) for it in place.watch.rows(statement)]
        for what, statement in ROWS.items()
    }
    deliveries, jobs = kept["deliveries"], kept["a job"]
    try:
        place.until(lambda: place.one(TRIED, deliveries) == len(deliveries), "each delivery tried")
        place.until(lambda: place.one(OWED, jobs) == len(jobs), "what the jobs owe tried")
        runs = place.start_runs("keyed", at="A") + place.start_runs("keyed", at="B")
        place.wait_for_ends(runs, seconds=60)
        assert [it["status"] for it in place.heads(runs)] == ["answered"] * 2
        assert [place.stage.pid(it) for it in "AB"] == before
    finally:
        place.watch.rows("DELETE FROM entry_delivery WHERE id = ANY(%s) RETURNING id", [deliveries])
        place.watch.rows("DELETE FROM jobs_job WHERE id = ANY(%s) RETURNING id", [jobs])
        place.watch.rows("DELETE FROM entry_arrival WHERE source = 'odd' RETURNING run_id")
