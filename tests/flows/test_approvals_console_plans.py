"""What the database does for the inbox over 200,000 requests, half of them open: no page walks through them all."""

from __future__ import annotations

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.databases import FreshDatabase
from tests.flows.test_console_plans import MOST_TOUCHED, explained, touched

FILL = """
INSERT INTO approvals_approval (id, kind, status, run_id, correlation_id, step, index, run_waits, mission, agent_key, entry,
    requested_by, run_as, server, tool, gate, held_reason, digest, policy_fingerprint, ceiling, ceiling_digest, sealed,
    key_id, created_at, expires_at, decided_by, decision_reason, settled_reason)
SELECT gen_random_uuid(), 'call', CASE WHEN n %% 2 = 0 THEN 'pending' WHEN n %% 1000 = 1 THEN 'approved' ELSE 'consumed' END,
    gen_random_uuid(), gen_random_uuid(), 1, 0, true, CASE WHEN n %% 3 = 0 THEN 'M-large' ELSE 'M-' || n / 5 END,
    CASE WHEN n = 200000 THEN 'rare' ELSE 'agent-' || n %% 20 END, 'api', '', '', 'jira', 'create_issue', 'write_posture',
    'Held.', CASE WHEN n %% 4 = 0 THEN 'same' ELSE n::text END, 'p', '{}', 'c', '\\x00', 'k1',
    timestamptz '2026-01-01T00:00:00Z' + n * interval '10 seconds', now() + interval '7 days', '', '', ''
FROM generate_series(1, %s) AS n
"""
MANY = 200_000
PAGES = (
    "",
    "?p=50",
    "?status=consumed",
    "?status=rejected",
    "?status=all",
    "?agent_key=agent-4",
    "?agent_key=rare",
    "?agent_key=agent-3&status=consumed",
    "?agent_key=rare&status=all",
    "?q=M-77",
    "?q=M-large",
    "?q=M-large&status=approved",
    "?q=M-none",
    "?q=00000000-0000-0000-0000-000000000001",
    "?q=M-large&agent_key=rare",
)


@pytest.mark.timeout(180)  # for the filling
def test_no_page_of_the_inbox_walks_through_all_requests(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        filling.execute(FILL, [MANY])
        filling.execute("VACUUM ANALYZE approvals_approval")
        (one,) = filling.execute("SELECT id FROM approvals_approval WHERE digest = 'same' LIMIT 1").fetchone() or ()  # fmt: skip
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    addresses = ["/admin/", *(f"/admin/approvals/approval/{it}" for it in (*PAGES, f"{one}/change/"))]  # fmt: skip
    wrong = []
    for address in addresses:
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address).status_code == 200, address
        for sql in [it["sql"] for it in queries if "approvals_approval" in it["sql"]]:
            plan = explained(sql)
            if touched(plan) > MOST_TOUCHED:
                wrong.append((address, sql[:300], plan))
    assert wrong == [], "\n".join(map(str, wrong))
