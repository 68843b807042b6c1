"""What the database does for the audit log of 100,000 rows: by no filter a walk through all of it, at no page."""

from __future__ import annotations

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.audit.export import begin_export
from liyagent.audit.listing import MOST_LOOKED_THROUGH, page_of_audit
from liyagent.audit.record import record
from tests.databases import FreshDatabase
from tests.flows.test_console_plans import explained, touched

MANY = 100_000
# Half of all is by one actor, one mission has ten rows, the rare action is the oldest; sixty actions there are.
INSERT = """
INSERT INTO audit_auditrow (at, action, actor, agent, mission, correlation_id, run_id, request_id, detail)
SELECT timestamptz '2026-01-01T00:00:00Z' + n * interval '1 s',
    CASE WHEN n <= 10 THEN 'agent.rare' WHEN n %% 2 = 0 THEN 'agent.run.ended' ELSE 'agent.a' || n %% 60 END,
    CASE WHEN n <= 10 THEN 'old' WHEN n %% 2 = 0 THEN 'system' ELSE 'user-' || n %% 997 END,
    CASE WHEN n = 7 THEN 'rare' ELSE 'agent-' || n %% 20 END, CASE WHEN n <= 10 THEN 'M-1' ELSE 'r-' || n END,
    md5((n / 4)::text)::uuid, md5((n / 4)::text)::uuid, 'r-' || n, '{}'
FROM generate_series(1, %s) AS n
"""
MOST_TOUCHED = 2 * MOST_LOOKED_THROUGH + 2_500
OLD = {"since": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:01:00Z"}
ASKED: tuple[dict[str, str], ...] = (
    {},
    {"mission": "M-1"},
    {"actor": "old"},
    {"actor": "system"},
    {"agent": "rare"},
    {"agent": "agent-3"},
    {"action": "agent.rare"},
    {"action": "agent"},
    {"action": "nothing"},
    {"run": "c4ca4238-a0b9-2382-0dcc-509a6f75849b"},
    OLD,
    {**OLD, "action": "agent"},
    {**OLD, "actor": "system"},
    {"since": "2026-01-04T00:00:00Z", "action": "agent.run"},
    {"actor": "system", "action": "agent.rare"},
    {"actor": "system", "agent": "rare"},
    {"agent": "rare", "action": "agent.run"},
)
# Half of all is of one action, and came to an end.
GONE = """
INSERT INTO audit_auditrow (at, action, actor, agent, mission, correlation_id, run_id, request_id, detail)
SELECT timestamptz '2026-01-01T00:00:00Z' + n * interval '1 s', CASE WHEN n <= %s THEN 'agent.gone' ELSE 'agent.a' || n %% 7 END,
    'system', 'agent-1', 'm-' || n, md5(n::text)::uuid, md5(n::text)::uuid, '', '{}'
FROM generate_series(1, %s) AS n
"""
PAGES = ("", "?actor=system", "?agent=rare", "?mission=M-1", "?action=agent&when=30d", "?q=old", "?q=agent.rare",
    "?actor=system&action=agent.rare")  # fmt: skip


@pytest.mark.timeout(240)  # for the filling
def test_no_filter_walks_through_all_of_the_log(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        filling.execute(INSERT, [MANY])
        filling.execute("VACUUM ANALYZE audit_auditrow")
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    with CaptureQueriesContext(connection) as queries:
        for asked in ASKED:
            page = page_of_audit(asked)
            if page.next_cursor:
                page_of_audit({**asked, "cursor": page.next_cursor})
            next(begin_export(asked, actor="test").lines())
        for path in PAGES:
            assert client.get(f"/admin/audit/auditrow/{path}").status_code == 200
    looked = {it["sql"] for it in queries if "audit_auditrow" in it["sql"]}
    assert len(looked) > 60
    wrong = [(sql[:500], it) for sql in looked if touched(it := explained(sql)) > MOST_TOUCHED]
    assert wrong == [], "\n".join(map(str, wrong))
    assert len(page_of_audit({"mission": "M-1"}).rows) == 10
    # What each new row costs is the same however many there are: the writer looks into small indexes alone.
    with CaptureQueriesContext(connection) as written:
        record("thing.done", actor="user-5")
    assert len(written) == 1


def test_an_action_that_was_frequent_once_is_not_looked_for_among_all_that_came_since(
    fresh_db: FreshDatabase,
) -> None:
    many = 40_000
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        filling.execute(GONE, [many // 2, many])
        filling.execute("VACUUM ANALYZE audit_auditrow")
    with CaptureQueriesContext(connection) as queries:
        first = page_of_audit({"action": "agent.gone"})
        assert first.rows[0].pk == many // 2
        page_of_audit({"action": "agent.gone", "cursor": first.next_cursor})
    looked = [it["sql"] for it in queries if "LATERAL" in it["sql"]]
    assert len(looked) == 2
    assert [it for it in map(explained, looked) if touched(it) > 100] == []
