"""What the database does for a scrape of 200,000 runs."""

from __future__ import annotations

import re

import psycopg
import pytest
from django.conf import settings

from liyagent.operation.questions import QUESTIONS
from liyagent.operation.readings import MOST_COUNTED
from liyagent.operation.scrape import BOUND, ask
from tests.databases import FreshDatabase, Template
from tests.flows.many import template_of_many

GROWING = ("runs_run", "runs_call", "audit_auditrow", "events_runevent", "runs_part")
MOST_STATEMENTS = 8
RUNS_AND_MORE = (
    # A backlog beyond what is counted, and runs that stand everywhere else.
    "UPDATE runs_run SET status = 'queued', attempt = 0, error = ''"
    " WHERE id IN (SELECT id FROM runs_run WHERE status = 'answered' LIMIT 12000)",
    "UPDATE runs_run SET status = 'queued', error = '', losses = 1"
    " WHERE id IN (SELECT id FROM runs_run WHERE status = 'answered' LIMIT 1500)",
    "UPDATE runs_run SET status = 'running', holder = gen_random_uuid()"
    " WHERE id IN (SELECT id FROM runs_run WHERE status = 'answered' LIMIT 300)",
    """INSERT INTO runs_call (run_id, correlation_id, step, index, provider_call_id, server, tool, intent, step_key,
        has_identity, key_window_seconds, intent_digest, attempt, holder, marked_at, deadline, sealed, fate,
        settlement, late_finding)
        SELECT id, correlation_id, 1, 0, '', 'jira', 'create', 'sending', id::text, true, 0, '', 1,
            gen_random_uuid(), now(), now(), '\\x00',
            CASE WHEN status = 'running' THEN '' WHEN status = 'failed' THEN 'unknown' ELSE 'done' END, '', ''
        FROM runs_run WHERE status <> 'answered' OR random() < 0.1""",
    """INSERT INTO audit_auditrow (at, action, actor, mission, request_id, run_id, detail)
        SELECT now() - n * interval '1 second', CASE WHEN n % 100 = 0 THEN 'agent.run.crash_resumed'
            ELSE 'agent.run.ended' END, '', '', '', gen_random_uuid(), '{"cause": "proof"}'
        FROM generate_series(40000, 1, -1) AS n""",
)


@pytest.fixture
def cloned_from(migrated_template: Template) -> str:
    return template_of_many(migrated_template)


@pytest.fixture
def many(fresh_db: FreshDatabase) -> str:
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        for statement in RUNS_AND_MORE:
            filling.execute(statement)
        filling.execute("VACUUM ANALYZE")
    return fresh_db.url


def test_a_scrape_takes_few_statements_and_walks_through_no_table_that_grows(many: str) -> None:
    assert len(QUESTIONS) + 1 <= MOST_STATEMENTS
    conf = settings.LIYAGENT
    values = {"lease": conf.lease_seconds, "sweep": conf.sweep_seconds}
    with psycopg.connect(many) as connection:
        connection.execute(BOUND)
        for question in QUESTIONS:
            rows = connection.execute(f"EXPLAIN (ANALYZE, TIMING OFF) {question}", values)
            plan = [row[0] for row in rows.fetchall()]
            walks = [it for it in plan if re.search(rf"Seq Scan on ({'|'.join(GROWING)})", it)]
            assert walks == [], "\n".join(plan)
            assert max(map(touched, plan)) <= MOST_COUNTED, "\n".join(plan)


def touched(line: str) -> int:
    """The rows that a scan met or threw away, loops of one scan together."""
    if "Removed by Filter" in line:
        return int(line.rpartition(" ")[2])
    found = re.search(r"(?:Scan|CTE).*actual rows=([\d.]+) loops=(\d+)", line)
    return round(float(found[1]) * int(found[2])) if found else 0


def test_counts_stop_where_a_backlog_is_beyond_them(many: str) -> None:
    answer = ask(many)
    assert answer.is_up
    told = {(name, *labels): value for name, labels, value in answer.rows}
    assert told["queued_runs", "fresh"] == MOST_COUNTED
    assert told["queued_runs", "again"] == 1500
    assert (
        sum(value for key, value in told.items() if key[:2] == ("runs", "queued")) == MOST_COUNTED
    )
    assert told["writes_in_doubt",] == 300
    assert told["runs_resumed_15m", "proof"] == 8
