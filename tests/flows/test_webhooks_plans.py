"""What the database does for a call, a page and a list, of 100,000 calls of one trigger and as much of other ways."""

from __future__ import annotations

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.entry.webhooks.arrivals import page_of_arrivals
from liyagent.entry.webhooks.models import Trigger
from liyagent.entry.webhooks.receive import _find, _refuse_burst
from tests.databases import FreshDatabase
from tests.flows.test_console_plans import explained, touched

MANY = 100_000
# Those of `pager` are the oldest, and those of the bot the newest: what came lately is of another way.
FILL = """
INSERT INTO entry_arrival (run_id, way, source, delivery_id, body_digest, agent_key, started_by, mission, request_id, key_id,
        state, reason, outcome, received_at, next_at, give_up_at, attempts, ended_at)
    SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, s.way, s.source, 'd-' || n, '', 'triage', 'ann',
        '', '', 'k', 'ended', '', 'answered', t.at, t.at, t.at, 1, t.at
    FROM generate_series(1, %s) AS n,
        LATERAL (SELECT liyagent_now() - make_interval(secs => %s - n) AS at) AS t,
        LATERAL (SELECT CASE WHEN n <= %s THEN 'webhook' ELSE 'teams' END AS way,
            CASE WHEN n <= 50 THEN 'rare' WHEN n <= %s THEN 'pager' ELSE 'desk' END AS source) AS s
"""
# What a count goes through, and some; a trigger's busiest minute is more.
MOST_TOUCHED, BUSIEST = 5_100, 6_000


@pytest.mark.timeout(180)  # for the filling
@pytest.mark.parametrize("webhooks", [MANY, 60])
def test_nothing_that_is_asked_walks_through_all_arrivals(
    fresh_db: FreshDatabase, webhooks: int
) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        filling.execute(FILL, [2 * MANY, 2 * MANY, webhooks, webhooks])
        filling.execute("VACUUM ANALYZE entry_arrival")
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    with CaptureQueriesContext(connection) as queries:
        for key in ("pager", "rare", "none"):
            trigger = Trigger(key=key, kind="webhook", most_a_minute=60)
            page = page_of_arrivals(trigger, {})
            if page.next_cursor:
                page_of_arrivals(trigger, {"cursor": page.next_cursor})
            _find(trigger, "d-77")
            _refuse_burst(trigger)
            assert client.get(f"/admin/webhooks/triggerarrival/?q={key}").status_code == 200
        assert client.get("/admin/webhooks/triggerarrival/").status_code == 200
        _refuse_burst(Trigger(key="pager", kind="webhook", most_a_minute=BUSIEST - 1_000))
    looked = [it["sql"] for it in queries if "entry_arrival" in it["sql"]]
    assert len(looked) > 15
    wrong = [(sql[-400:], it) for sql in looked if touched(it := explained(sql)) > MOST_TOUCHED]
    assert wrong == [], "\n".join(map(str, wrong))
