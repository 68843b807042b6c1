"""What the database does for the console's first pages over 200,000 runs and as many marked calls and audit rows."""

from __future__ import annotations

import re

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.databases import FreshDatabase, Template
from tests.flows.many import template_of_many

# Rows that a statement may touch: the newest 10,000 of a thing, and some.
MOST_TOUCHED = 25_000
LARGE = ("runs_run", "runs_call", "audit_auditrow", "events_runevent")
CALLS = """
INSERT INTO runs_call (run_id, correlation_id, step, index, provider_call_id, server, tool, intent, step_key,
    has_identity, key_window_seconds, intent_digest, attempt, holder, marked_at, deadline, sealed, fate, settlement,
    late_finding)
SELECT id, correlation_id, 1, 0, 'c', 'jira', 'create_issue', 'sending', id::text, true, 0, 'd', 1, gen_random_uuid(),
    created_at, created_at, '\\x00', CASE WHEN random() < 0.001 THEN 'unknown' ELSE 'done' END, 'answered', ''
FROM runs_run
"""
AUDIT = """
INSERT INTO audit_auditrow (at, action, actor, mission, correlation_id, run_id, request_id, detail)
SELECT created_at, CASE WHEN random() < 0.01 THEN 'agent.run.crash_resumed' ELSE 'agent.run.ended' END, 'a', mission,
    correlation_id, id, '', '{"status": "answered", "cause": "proof"}' FROM runs_run ORDER BY created_at
"""
OPEN = """
UPDATE runs_run SET status = 'queued', attempt = 1, error = '' WHERE error = 'lost' AND created_at > timestamptz '2026-01-20'
"""
PAGES = (
    "",
    "runs/run/",
    "runs/run/?status=failed&started=24h",
    "runs/run/?status=answered",
    "runs/run/?entry=cron",
    "runs/run/?agent_key=agent-3&error=lost",
    "runs/run/?agent_key=agent-3&status=paused",
    "runs/run/?writes=unknown",
    "runs/run/?q=M-77",
    "runs/run/?q=00000000-0000-0000-0000-000000000001",
    "runs/call/",
    "runs/call/?doubt=unknown",
    "runs/call/?doubt=unsettled",
    "runs/call/?doubt=failed",
    "runs/call/?doubt=all&q=00000000-0000-0000-0000-000000000001",
    "runs/call/?doubt=all&q=a-step-key",
    "audit/auditrow/",
    "audit/auditrow/?q=agent.contained",
    "audit/auditrow/?action=agent.run&when=30d",
    "audit/auditrow/?mission=M-77&actor=a",
    "audit/concern/",
    "audit/auditrow/?q=00000000-0000-0000-0000-000000000001",
    "agents/agent/",
    "events/",
    "events/?q=00000000-0000-0000-0000-000000000001",
)


@pytest.fixture
def cloned_from(migrated_template: Template) -> str:
    return template_of_many(migrated_template)


@pytest.fixture
def many(fresh_db: FreshDatabase) -> Client:
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        filling.execute(CALLS)
        # Each mission that is noted is locked until the commit: here are more of them than locks.
        filling.execute("ALTER TABLE audit_auditrow DISABLE TRIGGER audit_notes_mission")
        filling.execute(AUDIT)
        filling.execute("ALTER TABLE audit_auditrow ENABLE TRIGGER audit_notes_mission")
        filling.execute(OPEN)
        filling.execute("VACUUM ANALYZE")
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.mark.timeout(240)  # for the filling
def test_no_page_walks_through_all_that_ever_happened(many: Client) -> None:
    wrong = []
    for page in PAGES:
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            assert many.get(f"/admin/{page}").status_code == 200, page
        for sql in [it["sql"] for it in queries if any(table in it["sql"] for table in LARGE)]:
            plan = explained(sql)
            if touched(plan) > MOST_TOUCHED:
                wrong.append((page, sql[:300], plan))
    assert wrong == [], "\n".join(map(str, wrong))


def explained(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF) {sql}")
        return "\n".join(row[0] for row in cursor.fetchall())


def touched(plan: str) -> int:
    """The most rows that any node of a plan met, those it threw away included."""
    kept = [float(it) for it in re.findall(r"actual rows=([0-9.]+)", plan)]
    thrown = [int(it) for it in re.findall(r"Rows Removed by [A-Za-z ]+: ([0-9]+)", plan)]
    return int(max([*kept, *thrown, 0]))
