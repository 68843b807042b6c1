"""What the database does for the lists of arrivals and deliveries, of 100,000 each: never a walk through all of them."""

from __future__ import annotations

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.entry.listing import MOST_LOOKED_THROUGH, page_of_arrivals, page_of_deliveries
from tests.databases import FreshDatabase
from tests.flows.test_console_plans import explained, touched

MANY = 100_000
ARRIVALS = """
INSERT INTO entry_arrival (run_id, way, source, delivery_id, body_digest, agent_key, started_by, mission, request_id, key_id,
        state, reason, outcome, received_at, next_at, give_up_at, attempts, ended_at)
    SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, CASE WHEN n <= 50 THEN 'cron' ELSE 'teams' END,
        CASE WHEN n <= 70 THEN 'rare' ELSE 'desk' END, 'd-' || n, '', CASE WHEN n = 60 THEN 'other' ELSE 'triage' END, 'ann', '', '', 'k',
        CASE WHEN n %% 5000 = 0 THEN 'refused' ELSE 'ended' END, '', 'answered', t.at, t.at, t.at, 1, t.at
    FROM generate_series(1, %s) AS n, LATERAL (SELECT liyagent_now() - make_interval(secs => 200000 - n) AS at) AS t
"""
# The dead are the oldest.
DELIVERIES = """
INSERT INTO entry_delivery (run_id, way, kind, number, address, vendor_id, state, created_at, next_at, give_up_at, settled_at)
    SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, CASE WHEN n <= 50 THEN 'cron' ELSE 'teams' END, 'answer', 0,
        '{}', '', CASE WHEN n <= 20 THEN 'dead' WHEN n <= 30 THEN 'closed' ELSE 'delivered' END, t.at, t.at, t.at, t.at
    FROM generate_series(1, %s) AS n, LATERAL (SELECT liyagent_now() - make_interval(secs => 200000 - n) AS at) AS t
"""
# What is looked through, and with what came in looked up beside.
MOST_TOUCHED = 2 * MOST_LOOKED_THROUGH + 1_100


@pytest.mark.timeout(240)  # for the filling
def test_no_list_walks_through_all_of_them(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        filling.execute(ARRIVALS, [MANY])
        filling.execute(DELIVERIES, [MANY])
        filling.execute("VACUUM ANALYZE entry_arrival, entry_delivery")
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    with CaptureQueriesContext(connection) as queries:
        for asked in ({}, {"way": "cron"}, {"state": "refused"}, {"way": "teams", "source": "rare"}, {"agent": "other"},
                {"way": "cron", "source": "rare", "delivery_id": "d-7"}, {"source": "rare"}):  # fmt: skip
            arrivals = page_of_arrivals(asked)
            if arrivals.next_cursor:
                page_of_arrivals({**asked, "cursor": arrivals.next_cursor})
        for asked in ({}, {"state": "dead"}, {"state": "given_up"}, {"state": "closed"}, {"way": "cron"}, {"source": "rare"},
                {"state": "given_up", "source": "rare"}, {"agent": "other"}):  # fmt: skip
            deliveries = page_of_deliveries(asked)
            if deliveries.next_cursor:
                page_of_deliveries({**asked, "cursor": deliveries.next_cursor})
        for path in ("arrival/", "arrival/?way=cron", "arrival/?q=rare", "arrival/?way=teams&agent=other", "arrival/?state=refused",
                "delivery/", "delivery/?state=given_up", "delivery/?state=closed", "delivery/?q=rare", "delivery/?way=cron&agent=triage"):  # fmt: skip
            assert client.get(f"/admin/entry/{path}").status_code == 200
        assert client.get("/admin/").status_code == 200
    looked = {it["sql"] for it in queries if "entry_arrival" in it["sql"] or "entry_delivery" in it["sql"]}  # fmt: skip
    assert len(looked) > 30
    wrong = [(sql[-400:], it) for sql in looked if touched(it := explained(sql)) > MOST_TOUCHED]
    assert wrong == [], "\n".join(map(str, wrong))
    rows = page_of_deliveries({"state": "given_up"}).rows
    assert len(rows) == 20


def test_a_list_leads_on_through_what_does_not_fit(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        filling.execute(ARRIVALS, [MOST_LOOKED_THROUGH + 100])
    first = page_of_arrivals({"agent": "other"})
    assert (first.rows, bool(first.next_cursor)) == ([], True)
    second = page_of_arrivals({"agent": "other", "cursor": first.next_cursor})
    assert [it.delivery_id for it in second.rows] == ["d-60"]
    assert second.next_cursor == ""
