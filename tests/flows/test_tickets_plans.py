"""What the database does for lists of tickets over 200,000 of them: no page walks through them all."""

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
INSERT INTO tickets_ticket (id, serial, state, priority, queue, subject, sealed, key_id, source_kind, source_id, mission, run_id,
    agent_key, created_by, changed_by, revision, comments, created_at, changed_at, closed_at)
SELECT gen_random_uuid(), n, CASE WHEN n %% 1000 = 0 THEN 'open' ELSE 'closed' END,
    CASE WHEN n <= 3 THEN 'P1' WHEN n %% 2 = 0 THEN 'P2' ELSE 'P3' END, CASE WHEN n <= 5 THEN 'Old' ELSE 'Service Desk L1' END,
    's', '\\x00', 'k1', 'saga', n::text, CASE WHEN n %% 3 = 0 THEN 'M-large' ELSE 'M-' || n / 5 END, gen_random_uuid(), 'a', 'system',
    '', 0, 0, at, at, CASE WHEN n %% 1000 = 0 THEN NULL ELSE at END
FROM generate_series(1, %s) AS n, LATERAL (SELECT timestamptz '2026-01-01T00:00:00Z' + n * interval '10 seconds' AS at) AS it
"""
MANY = 200_000
PAGES = (
    "/admin/", "/admin/tickets/ticket/", "/admin/tickets/ticket/?p=50", "/admin/tickets/ticket/?state__exact=open",
    "/admin/tickets/ticket/?state__exact=resolved", "/admin/tickets/ticket/?priority__exact=P1",
    "/admin/tickets/ticket/?state__exact=closed&priority__exact=P1", "/admin/tickets/ticket/?state__exact=open&priority__exact=P1",
    "/admin/tickets/ticket/?q=M-77", "/admin/tickets/ticket/?q=M-large&state__exact=open", "/admin/tickets/ticket/?q=Old",
    "/admin/tickets/ticket/?q=Service+Desk+L1&priority__exact=P1", "/admin/tickets/ticket/?q=none",
    "/admin/tickets/ticket/?q=T-000007", "/admin/tickets/ticket/?q=00000000-0000-0000-0000-000000000001",
    "/api/tickets", "/api/tickets?state=open", "/api/tickets?queue=Old", "/api/tickets?queue=Old&state=closed",
    "/api/tickets?state=closed&priority=P1", "/api/tickets?mission=M-large&priority=P1", "/api/tickets?priority=P4",
    "/api/tickets?run=00000000-0000-0000-0000-000000000001", "/api/tickets/T-000007",
)  # fmt: skip


@pytest.mark.timeout(180)  # for the filling
def test_no_list_of_tickets_walks_through_them_all(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        filling.execute(FILL, [MANY])
        filling.execute("VACUUM ANALYZE tickets_ticket")
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    wrong = []
    for address in PAGES:
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address).status_code == 200, address
        looked = [it["sql"] for it in queries if "tickets_ticket" in it["sql"]]
        assert looked, address
        for sql in looked:
            plan = explained(sql)
            if touched(plan) > MOST_TOUCHED:
                wrong.append((address, sql[:300], plan))
    assert wrong == [], "\n".join(map(str, wrong))
