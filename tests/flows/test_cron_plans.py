"""What the database does for a look, a page and a fire, of 100,000 fires and 20,000 triggers."""

from __future__ import annotations

from io import StringIO

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.entry.cron.fire import fire_due
from liyagent.entry.cron.run_now import run_now
from tests.flows.conftest import Api
from tests.flows.test_console_plans import explained, touched
from tests.unit.entry.cron import conftest as at_cron
from tests.unit.entry.cron.conftest import Cron
from tests.unit.runs.carrying import conftest as at_runs
from tests.unit.runs.carrying.conftest import never

world, cron = at_runs.world, at_cron.cron
TRIGGERS, FIRES = 20_000, 100_000
FILL_TRIGGERS = """
INSERT INTO cron_crontrigger (key, agent_key, task, schedule, timezone, is_enabled, catch_up, overlap, started_by, next_slot, saved_by, updated_at)
    SELECT 't' || n, 'triage', 'look', '0 10 * * *', 'UTC', true, true, 'skip', 'olga', '2026-06-02T10:00Z', 'olga', liyagent_now()
    FROM generate_series(1, %s) AS n
"""
# Half of them are of one trigger, one in a thousand of another way; all over but the last.
FILL_FIRES = """
INSERT INTO entry_arrival (run_id, way, source, delivery_id, body_digest, agent_key, started_by, mission, request_id, key_id, state,
        reason, outcome, received_at, next_at, give_up_at, attempts, started_at, ended_at)
    SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, CASE WHEN n %% 1000 = 0 THEN 'teams' ELSE 'cron' END,
        CASE WHEN n %% 2 = 0 THEN 'nightly' ELSE 't' || n %% 20000 END, 'd-' || n, '', 'triage', 'olga', '', '', 'k1', 'ended',
        '', 'answered', t.at, t.at, t.at, 1, t.at, t.at
    FROM generate_series(1, %s) AS n, LATERAL (SELECT liyagent_now() - make_interval(secs => 200000 - n) AS at) AS t
"""
# What a count goes through, and some.
MOST_TOUCHED = 5_100


@pytest.mark.timeout(180)  # for the filling
def test_no_look_page_or_fire_walks_through_all_of_them(cron: Cron) -> None:
    cron.at("2026-06-01T09:59")
    cron.save("0 10 * * *")
    User.objects.create_superuser("root")
    token = StringIO()
    call_command("apikeys", "create", "tests", "--user=root", "--days=1", stdout=token)
    operator = Api(token=token.getvalue().strip())
    with psycopg.connect(cron.world.url, autocommit=True) as filling:
        filling.execute(FILL_TRIGGERS, [TRIGGERS])
        filling.execute(FILL_FIRES, [FIRES])
        filling.execute("VACUUM ANALYZE cron_crontrigger, entry_arrival")
    cron.at("2026-06-01T10:00")
    browser = Client()
    browser.force_login(User.objects.get(username="root"))
    with CaptureQueriesContext(connection) as queries:
        assert fire_due(never) == 1
        assert fire_due(never) == 0
        run_now("nightly", actor="olga")
        for path in ("/api/cron-triggers", "/api/cron-triggers/nightly/fires", "/api/cron-triggers/t7/fires"):  # fmt: skip
            page = operator.get(path)
            assert page.status == 200
            if page.data["next"]:
                assert operator.get(page.data["next"]).status == 200
        for path in ("crontrigger/", "cronfire/", "cronfire/?q=nightly", "cronfire/?q=t7", "cronfire/?q=nobody"):  # fmt: skip
            assert browser.get(f"/admin/cron/{path}").status_code == 200
        call_command("cron", "list", stdout=StringIO())
        call_command("cron", "fires", "nightly", stdout=StringIO())
    ours = [it["sql"] for it in queries if "SELECT" in it["sql"] and ("cron_crontrigger" in it["sql"] or "entry_arrival" in it["sql"])]  # fmt: skip
    assert len(ours) > 15
    wrong = []
    for sql in [it for it in ours if it.lstrip().startswith("SELECT")]:
        plan = explained(sql)
        if touched(plan) > MOST_TOUCHED:
            wrong.append((sql[-400:], plan))
    assert wrong == [], "\n".join(map(str, wrong))
