"""What came in by the ways and what is owed for it, for the browser to find: dead letters, doubts, hostile words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg

ARRIVALS = """
INSERT INTO entry_arrival (run_id, way, source, delivery_id, body_digest, agent_key, started_by, mission, request_id, key_id, state,
        reason, outcome, received_at, next_at, give_up_at, attempts, started_at, ended_at)
    SELECT COALESCE(n.run, gen_random_uuid()), n.way, n.source, n.delivery, '', 'triage-keyed', 'olga', '', '', 'k1', n.state, n.reason,
        n.outcome, t.at, liyagent_now() + interval '1 hour', liyagent_now() + interval '1 day', 1,
        CASE WHEN n.state IN ('started', 'ended') THEN t.at END, CASE WHEN n.state IN ('ended', 'refused', 'skipped') THEN t.at END
    FROM (VALUES
        (%(answered)s::uuid, 'teams', 'desk', '1700000000001', 'ended', '', 'answered', 5),
        (%(unknown)s::uuid, 'a2a', 'triage-keyed', 'message-7', 'ended', '', 'failed', 65),
        (NULL, 'webhook', 'pager', %(hostile)s, 'refused', 'agent triage-keyed permits runs by api, not by webhook ' || %(hostile)s, '', 3),
        (NULL, 'ticket', 'tickets', 'INC-7@3', 'started', '', '', 9),
        (NULL, 'cron', 'nightly', '2026-06-01T00:30:00Z', 'skipped', 'run 01a22af3 of an earlier slot still goes on', '', 700),
        (NULL, 'cron', 'nightly', '2026-06-02T00:30:00Z', 'ended', '', 'answered', 400),
        (NULL, 'copilot', 'c0ffee', 'turn 1', 'received', 'no sealing key here', '', 1)
    ) AS n(run, way, source, delivery, state, reason, outcome, minutes),
        LATERAL (SELECT liyagent_now() - make_interval(mins => n.minutes) AS at) AS t
"""
DELIVERIES = """
INSERT INTO entry_delivery (run_id, way, kind, number, address, vendor_id, state, created_at, next_at, give_up_at, marked_at, attempts,
        failures, last_error, settled_at, closed_by, closed_why)
    SELECT n.run::uuid, n.way, n.kind, n.number, n.address::jsonb, n.vendor, n.state, t.at, liyagent_now() + interval '40 minutes',
        liyagent_now() + interval '23 hours', CASE WHEN n.state = 'unconfirmed' THEN t.at END, n.attempts, n.attempts - 1, n.error,
        CASE WHEN n.state NOT IN ('pending', 'waiting') THEN t.at END, n.closed_by, n.why
    FROM (VALUES
        (%(answered)s, 'teams', 'placeholder', 0, '{"bot": "desk", "conversation": "19:ab"}', '1700000000002', 'delivered', 1, '', '', '', 5),
        (%(answered)s, 'teams', 'answer', 0, '{"bot": "desk", "conversation": "19:ab"}', '', 'dead', 3,
            'HTTP 403: BotNotInConversationRoster ' || %(hostile)s, '', '', 4),
        (%(answered)s, 'teams', 'approval', 1, '{"bot": "desk", "conversation": "19:ab"}', '', 'unconfirmed', 2, 'HTTP 500', '', '', 3),
        (%(unknown)s, 'a2a', 'push', 1, '{"config": "7", "state": "completed"}', '', 'pending', 4, 'ConnectError: refused', '', '', 60),
        (%(unknown)s, 'a2a', 'push', 2, '{"config": "8", "state": "completed"}', '', 'closed', 9, 'HTTP 410', 'olga', 'told by phone', 50)
    ) AS n(run, way, kind, number, address, vendor, state, attempts, error, closed_by, why, minutes),
        LATERAL (SELECT liyagent_now() - make_interval(mins => n.minutes) AS at) AS t
    RETURNING id
"""
SET_UP = """
INSERT INTO cron_crontrigger (key, agent_key, task, schedule, timezone, is_enabled, catch_up, overlap, started_by, next_slot, problem,
        saved_by, updated_at)
    VALUES ('nightly', 'triage-keyed', 'look', '30 2 * * *', 'Europe/Berlin', true, true, 'skip', 'olga',
            liyagent_now() + interval '9 hours', '', 'olga', liyagent_now()),
        ('stuck', 'triage-keyed', 'look', '30 2 * * *', 'Europe/Berlin', true, true, 'skip', 'olga', liyagent_now() + interval '1 hour',
            'the zone Europe/Berlin is not known here', 'olga', liyagent_now());
INSERT INTO webhooks_trigger (key, kind, agent_key, started_by, scheme, secret_envs, signature_header, signature_prefix, task, mission,
        filter, delivery_id, most_a_minute, is_enabled, misfits, misfit_at, misfit_why, saved_by, updated_at)
    VALUES ('pager', 'webhook', 'triage-keyed', 'olga', 'standard', '["PAGER_SECRET"]', 'x', '', '{{ problem }}', '', '', '', 60, true, 2,
        liyagent_now() - interval '5 minutes', 'mapping.task: problem is missing', 'olga', liyagent_now());
INSERT INTO teams_teamsbot (key, agent_key, app_id, tenant, secret_env, started_by, is_enabled, metadata_url, issuer, token_url, scope,
        saved_by, updated_at)
    VALUES ('desk', 'triage-keyed', '6e7f0000-0000-4000-8000-000000000001', '6e7f0000-0000-4000-8000-000000000002', 'TEAMS_SECRET', 'olga',
        false, 'https://a.example', 'https://b.example', '', 'c', 'olga', liyagent_now());
INSERT INTO teams_teamsperson VALUES ('6e7f0000-0000-4000-8000-000000000003', 'admin', 'olga', liyagent_now());
INSERT INTO copilot_conversation (id, agent_key, owner, title, mission, turns, created_at, changed_at)
    VALUES ('01a22aa6-24a9-79f2-bf4e-8833694fa02d', 'triage-keyed', 'ann', 'disks', 'm', 1, liyagent_now() - interval '1 hour', liyagent_now());
"""
TURN = """
INSERT INTO copilot_turn (conversation_id, number, run_id, key_id, given, left_out, outcome, asked_at, ended_at)
    VALUES ('01a22aa6-24a9-79f2-bf4e-8833694fa02d', 1, %s, 'k1', 0, 0, 'answered', liyagent_now(), liyagent_now())
"""
JOBS = """
INSERT INTO jobs_job (id, kind, subject, params, cursor, status, done, total, words, result, attempt, losses, losses_here, next_at,
        asked_by, mission, reason, created_at, started_at, ended_at)
    VALUES (gen_random_uuid(), 'source_sync', 'runbooks', '{}', '{}', 'failed', 3, 12, 'b.md', '{}', 2, 1, 0, liyagent_now(), 'olga', '',
        'the folder is gone', liyagent_now() - interval '1 hour', liyagent_now() - interval '1 hour', liyagent_now())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """Numbers of deliveries: one that is dead, and one of which nobody can tell."""

    dead: int
    unconfirmed: int


def file_ways(connection: psycopg.Connection[Any], *, answered: Any, unknown: Any, hostile: str) -> Filed:  # fmt: skip
    """Have things come in and be owed by every way, and the ways be set up."""
    named = {"answered": answered, "unknown": unknown, "hostile": hostile.replace("\x07", "")}
    connection.execute(ARRIVALS, named)
    ids = [row[0] for row in connection.execute(DELIVERIES, named).fetchall()]
    for statement in SET_UP.split(";\n"):
        if statement.strip():
            connection.execute(statement.encode())
    connection.execute(TURN, [answered])
    connection.execute(JOBS)
    return Filed(dead=ids[1], unconfirmed=ids[2])
