"""What the database does for cohort replays over 20,000 of them and 100,000 runs: no page walks through them all."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from liyagent.agents.definitions import definition_of, save_agent
from liyagent.agents.errors import ReplayWanted
from liyagent.agents.models import Agent
from liyagent.replays.forget import FORGET
from liyagent.replays.left import FOUND
from liyagent.replays.models import CohortReplay
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of
from tests.flows.test_console_plans import MOST_TOUCHED, explained, touched

REPLAYS, RUNS = 20_000, 100_000
FILL = """
INSERT INTO replays_cohortreplay (id, agent_key, agent_version, override, strict, baseline, most_calls, most_tokens, runs, skipped,
    estimate, status, reason, verdict, beyond_baseline, summary, digest, key_id, asked_by, mission, created_at, ended_at)
SELECT gen_random_uuid(), CASE WHEN n %% 2 = 0 THEN 'triage' ELSE 'other' END, n / 100, '{"model": "m"}', false, 0, 0, 0, '[]', '[]',
    '{"runs": 0, "replays": 0, "model_calls": 0, "input_tokens": 0, "output_tokens": 0, "cost_micros": null, "currency": ""}',
    'done', '', 'same', '', '{}', '', '', 'a', CASE WHEN n %% 3 = 0 THEN 'M-large' ELSE 'M-' || n END, at, at
FROM generate_series(1, %s) AS n, LATERAL (SELECT liyagent_now() - n * interval '10 minutes' AS at) AS it
"""
FILL_RESULTS = """
INSERT INTO replays_replayed (cohort_id, run_id, lane, number, status, error, verdict, diff, key_id, sealed, created_at)
SELECT c.id, gen_random_uuid(), 0, n, 'answered', '', 'same', '{}', 'k1', '\\x00', c.created_at
FROM replays_cohortreplay c, generate_series(0, 4) AS n
"""
FILL_RUNS = """
INSERT INTO runs_run (id, correlation_id, loop, agent_key, agent_version, entry, mission, request_id, recording, status, reason, format,
    key_id, attempt, losses, last_loss, handovers, resumes_recorded, sequence, wakes, events_missing, timeline, model_steps, calls_made,
    input_tokens, output_tokens, parts, seal, stop_requested, stopped_by, started_by, created_at, ended_at)
SELECT id, id, 'root', CASE WHEN n %% 10 = 0 THEN 'triage' ELSE 'other' END, 1, 'api', 'M', '', 'metadata', 'answered', '', 1,
    'k1', 1, 0, '', 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, '\\x00', false, '', '', at, at
FROM (SELECT n, gen_random_uuid() AS id, liyagent_now() - n * interval '1 minute' AS at FROM generate_series(1, %s) AS n) AS it
"""
TABLES = ("replays_cohortreplay", "replays_replayed", "runs_run")


@pytest.fixture
def filled(fresh_db: FreshDatabase, agent: Agent) -> Api:
    """A superuser's API over all of it."""
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        filling.execute(FILL, [REPLAYS])
        filling.execute(FILL_RESULTS)
        filling.execute(FILL_RUNS, [RUNS])
        filling.execute("VACUUM ANALYZE replays_cohortreplay, replays_replayed, runs_run")
    return api_of(User.objects.create_superuser("root"))


def walked(queries: CaptureQueriesContext) -> list[tuple[str, Any]]:
    """The statements that touch more than they should."""
    found = []
    for sql in (it["sql"] for it in queries):
        if sql.lstrip().startswith("SELECT") and any(name in sql for name in TABLES):
            plan = explained(sql)
            if touched(plan) > MOST_TOUCHED:
                found.append((sql[:300], plan))
    return found


@pytest.mark.timeout(180)  # for the filling
def test_no_page_walks_through_them_all(filled: Api) -> None:
    one = CohortReplay.objects.filter(agent_key="triage").order_by("created_at")[0]
    listed = "/api/agents/triage/cohort-replays"
    far = filled.get(f"{listed}?limit=200").data["next"]
    counted = {}
    for address in (listed, far, f"/api/cohort-replays/{one.id}", "/api/missions/M-large", "/api/missions/M-7"):  # fmt: skip
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            assert filled.get(address).status == 200, address
        assert walked(queries) == [], address
        counted[address] = len(queries)
    short = filled.get(f"{listed}?limit=1")
    with CaptureQueriesContext(connection) as queries:
        filled.get(f"{listed}?limit=200")
    with CaptureQueriesContext(connection) as few:
        filled.get(f"{listed}?limit=1")
    assert (short.status, len(queries)) == (200, len(few)), "a list asks no more for more rows"


@pytest.mark.timeout(180)
def test_asking_and_saving_look_no_further_than_they_must(filled: Api) -> None:
    """An agent all of whose runs kept no words; and one that wants a replay, with 10,000 of other versions."""
    body = {"override": {"model": "another"}, "estimate_only": True}
    with CaptureQueriesContext(connection) as queries:
        told = filled.post("/api/agents/triage/cohort-replays", body)
    assert (told.status, told.data["runs"], len(told.data["skipped"])) == (200, [], 50)
    assert walked(queries) == []
    agent = save_agent({**definition_of(Agent.objects.get()), "require_replay": True}, actor="t")
    with CaptureQueriesContext(connection) as queries, pytest.raises(ReplayWanted):
        save_agent({**definition_of(agent), "model": "another"}, actor="t")
    assert walked(queries) == []


@pytest.mark.timeout(180)
def test_what_is_old_is_found_by_its_end(filled: Api) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {FORGET}", [97 * 86_400.0, 20])
        plan = "\n".join(row[0] for row in cursor.fetchall())
        cursor.execute(f"EXPLAIN {FOUND}", [20])
        left = "\n".join(row[0] for row in cursor.fetchall())
    assert "replays_ended" in plan
    assert "replays_live" in left
    assert "Seq Scan on replays" not in plan + left
