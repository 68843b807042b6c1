"""What the database does for lists of routines over 200,000 of them, and for a mining behind as many runs of others."""

from __future__ import annotations

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.agents.models import Agent
from routines import scan
from routines.scan import MOST_RUNS, count_recent
from routines.scan import scan as scan_runs
from tests.databases import FreshDatabase
from tests.flows.test_console_plans import MOST_TOUCHED, explained, touched
from tests.recorded_runs import Made, Past, write_past

MANY = 200_000
FILL = """
INSERT INTO routines_routine (id, agent_key, pattern, tools, definition, digest, parameters, origins, as_parameters, runs, support,
    distinct_inputs, score, tools_seen, baseline, withheld, state, workflow_key, adopted_by, reason, mined_at, created_at, changed_at)
SELECT gen_random_uuid(), CASE WHEN n %% 2 = 0 THEN 'large' ELSE 'agent-' || n %% 7 END, n::text, '["crm/find"]', '{"steps": []}', 'd',
    '[]', '[]', '[]', '[]', 3, 1, '{}', '{"crm/find": "x"}', '{}', '', CASE WHEN n <= 10 THEN 'adopted' WHEN n %% 3 = 0 THEN 'dismissed'
    ELSE 'suggested' END, '', '', '', at, at, at
FROM generate_series(1, %s) AS n, LATERAL (SELECT timestamptz '2026-01-01T00:00:00Z' + n * interval '10 seconds' AS at) AS it
"""
RUNS = """
INSERT INTO runs_run (id, correlation_id, loop, agent_key, agent_version, entry, mission, request_id, started_by, recording, status,
    reason, format, key_id, attempt, losses, last_loss, handovers, resumes_recorded, sequence, wakes, events_missing, timeline,
    model_steps, calls_made, input_tokens, output_tokens, parts, seal, stop_requested, stopped_by, created_at)
SELECT gen_random_uuid(), gen_random_uuid(), 'root', CASE WHEN n %% 2 = 0 THEN 'failing' ELSE 'agent-' || n %% 7 END, 1, 'api', 'm', '', '',
    'full', 'failed', '', 1, 'k', 1, 0, '', 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, '\\x00', false, '', now() - n * interval '10 seconds'
FROM generate_series(1, %s) AS n
"""
ALL = "/api/agents/large/routines"
PAGES = (
    ALL, f"{ALL}?limit=200", f"{ALL}?state=suggested", f"{ALL}?state=adopted", f"{ALL}?state=filed",
    "/api/agents/agent-3/routines?state=adopted", "/api/agents/agent-3/routines?state=dismissed",
)  # fmt: skip


@pytest.fixture
def client(fresh_db: FreshDatabase) -> Client:
    it = Client()
    it.force_login(User.objects.create_superuser("root"))
    return it


@pytest.mark.timeout(180)  # for the filling
def test_no_list_of_routines_walks_through_them_all(fresh_db: FreshDatabase, client: Client) -> None:  # fmt: skip
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        filling.execute(FILL, [MANY])
        filling.execute("VACUUM ANALYZE routines_routine")
    wrong = []
    later = client.get(f"{ALL}?limit=200").json()["next"]
    deep = client.get(later).json()["next"]
    for address in (*PAGES, later, deep):
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address).status_code == 200, address
        looked = [it["sql"] for it in queries if "routines_routine" in it["sql"]]
        assert looked, address
        for sql in looked:
            plan = explained(sql)
            if touched(plan) > MOST_TOUCHED:
                wrong.append((address, sql[:300], plan))
    assert wrong == [], "\n".join(map(str, wrong))


@pytest.mark.timeout(180)  # for the filling
def test_a_batch_of_a_mining_touches_its_own_runs_alone(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    Agent.objects.create(key="failing", name="f", provider="scripted", model="m")
    write_past(fresh_db.url, [Past(agent="failing", calls=(Made(tool="crm/find"),))] * 30)
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        filling.execute(RUNS, [MANY])
        filling.execute("VACUUM ANALYZE runs_run, events_runevent, events_eventhead")
    assert count_recent("failing") == MOST_RUNS
    batches = scan_runs("failing")
    found = []
    for _ in range(3):
        with CaptureQueriesContext(connection) as queries:
            batch = next(batches)
        found.append(batch.looked_at)
        for sql in (it["sql"] for it in queries if it["sql"].lstrip().startswith("SELECT")):
            plan = explained(sql)
            assert touched(plan) <= 20 * scan.ROWS_AT_ONCE, f"{sql[:300]}\n{plan}"
    assert found == [scan.ROWS_AT_ONCE] * 3
    batches.close()
    # However many runs there are, no more than are recent are looked at.
    monkeypatch.setattr(scan, "MOST_RUNS", 1_000)
    assert sum(it.looked_at for it in scan_runs("failing")) == 1_000
