"""What the database does for lists of sagas over 200,000 of them: no page, tile, timeline or gauge walks through them all."""

from __future__ import annotations

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.agents.models import Agent
from liyagent.operation.questions import SAGAS
from tests.databases import FreshDatabase
from tests.flows.test_console_plans import MOST_TOUCHED, explained, touched

MANY = 200_000
FILL = """
INSERT INTO sagas_saga (id, agent_key, workflow, mission, status, cause, failed_step, registered, round, handoff, handoff_id,
    handed_off_at, key_id, closed_by, closed_reason, created_at, changed_at)
SELECT gen_random_uuid(), 'agent-' || n %% 7, CASE WHEN n %% 2 = 0 THEN 'work' ELSE '' END,
    CASE WHEN n %% 3 = 0 THEN 'M-large' ELSE 'M-' || n / 5 END,
    CASE WHEN n %% 10 = 0 THEN 'partial' WHEN n %% 500 = 1 THEN 'handed_off' WHEN n %% 7 = 2 THEN 'compensated' ELSE 'closed' END,
    CASE WHEN n <= 5 THEN 'cap' ELSE 'failed' END, '', 1, 1, 'none', '', NULL, '', '', '', at, at
FROM generate_series(1, %s) AS n, LATERAL (SELECT timestamptz '2026-01-01T00:00:00Z' + n * interval '10 seconds' AS at) AS it
"""
LIST = "/admin/sagas/saga/"
PAGES = (
    "/admin/", LIST, f"{LIST}?p=50", f"{LIST}?status=needs", f"{LIST}?status=needs&agent_key=agent-3", f"{LIST}?status=partial",
    f"{LIST}?status=open", f"{LIST}?status=closed&agent_key=agent-3", f"{LIST}?agent_key=agent-3&cause=cap", f"{LIST}?cause=cap",
    f"{LIST}?workflow=work", f"{LIST}?workflow=none&status=closed", f"{LIST}?q=M-77", f"{LIST}?q=M-large&status=open",
    f"{LIST}?q=none", f"{LIST}?q=00000000-0000-0000-0000-000000000001", "/api/missions/M-large?source=sagas",
)  # fmt: skip


@pytest.mark.timeout(180)  # for the filling
def test_no_list_of_sagas_walks_through_them_all(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        filling.execute(FILL, [MANY])
        filling.execute("VACUUM ANALYZE sagas_saga")
    Agent.objects.bulk_create(Agent(key=f"agent-{n}", name="a", provider="p", model="m") for n in range(7))  # fmt: skip
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    wrong = []
    for address in PAGES:
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address).status_code == 200, address
        looked = [it["sql"] for it in queries if "sagas_saga" in it["sql"]]
        assert looked, address
        for sql in [*looked, *([SAGAS] if address == "/admin/" else [])]:
            plan = explained(sql)
            if touched(plan) > MOST_TOUCHED:
                wrong.append((address, sql[:300], plan))
    assert wrong == [], "\n".join(map(str, wrong))
