"""200,000 runs to look through: filled in once a session, and cloned for each test that wants them."""

from __future__ import annotations

import os

import psycopg

from tests.databases import OURS, Template, is_made_here, url_of

MANY = 200_000
NAME = f"{OURS}_many"
INSERT = """
INSERT INTO runs_run (id, correlation_id, loop, agent_key, agent_version, entry, mission, request_id, started_by,
    recording, status, reason, error, format, key_id, attempt, losses, last_loss, handovers, resumes_recorded,
    sequence, wakes, events_missing, timeline, model_steps, calls_made, input_tokens, output_tokens, parts, seal,
    stop_requested, stopped_by, created_at, holder)
SELECT gen_random_uuid(), gen_random_uuid(), 'root', 'agent-' || n %% 20, 1,
    CASE WHEN n %% 50000 = 0 THEN 'cron' ELSE 'api' END, 'M-' || n / 5, '',
    CASE WHEN n %% 70000 = 0 THEN 'rare' ELSE 'olga' END, 'metadata',
    (CASE WHEN n %% 40000 = 0 THEN 'paused' WHEN n %% 100 = 0 THEN 'failed' ELSE 'answered' END), '',
    CASE WHEN n %% 40000 = 0 THEN '' WHEN n %% 100 = 0 THEN 'lost' ELSE '' END, 1, 'k1', 1, 0, '', 0, 0,
    9, 0, 0, 0, 3, 2, 10, 10, 0, '\\x00', false, '',
    timestamptz '2026-01-01T00:00:00Z' + n * interval '10 seconds', NULL
FROM generate_series(1, %s) AS n
"""


def template_of_many(migrated: Template) -> str:
    """Return the name of a database with that many runs, vacuumed and analysed; made by who first asks."""
    with is_made_here(NAME) as is_first:
        if is_first:
            migrated.clone(NAME)
            url = url_of(os.environ["DATABASE_URL"], NAME)
            with psycopg.connect(url, autocommit=True) as filling:
                filling.execute(INSERT, [MANY])
                filling.execute("VACUUM ANALYZE runs_run")
    return NAME
