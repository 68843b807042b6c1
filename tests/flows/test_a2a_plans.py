"""What the database does for a page, a message and a move, of 100,000 tasks of one caller."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from liyagent.entry.a2a.find import list_tasks
from liyagent.entry.a2a.forget import FORGET
from liyagent.entry.a2a.history import turns_before
from liyagent.entry.a2a.models import Task
from liyagent.entry.a2a.receive import _check_burst
from tests.databases import FreshDatabase
from tests.flows.test_console_plans import explained, touched
from tests.unit.entry.a2a.asking import asked

MANY = 100_000
# One in a thousand is open; every second one is of one long conversation.
FILL = """
INSERT INTO a2a_task (run_id, agent_key, owner, context_id, message_id, sealed, key_id, state, created_at, changed_at, ended_at)
    SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'triage', 'ann',
        CASE WHEN n %% 2 = 0 THEN 'long' ELSE 'c-' || n END, 'm-' || n, '', 'k', s.state, t.at, t.at,
        CASE WHEN s.state <> 'working' THEN t.at END
    FROM generate_series(1, %s) AS n,
        LATERAL (SELECT liyagent_now() - make_interval(secs => n) AS at) AS t,
        LATERAL (SELECT CASE WHEN n %% 1000 = 0 THEN 'working' WHEN n %% 3 = 0 THEN 'failed' ELSE 'completed' END AS state) AS s
"""
# What a count goes through, and some.
MOST_TOUCHED = 5_100
ASKED: tuple[dict[str, Any], ...] = (
    {},
    {"status": "TASK_STATE_WORKING"},
    {"status": "TASK_STATE_COMPLETED"},
    {"status": "TASK_STATE_CANCELED"},
    {"contextId": "long"},
    {"contextId": "c-77"},
    {"contextId": "long", "status": "TASK_STATE_WORKING"},
    {"contextId": "long", "status": "TASK_STATE_CANCELED"},
    {"statusTimestampAfter": "2020-01-01T00:00:00Z"},
    {"statusTimestampAfter": "2999-01-01T00:00:00Z"},
)


@pytest.mark.timeout(180)  # for the filling
def test_nothing_that_is_asked_walks_through_all_tasks(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        filling.execute(FILL, [MANY])
        filling.execute("VACUUM ANALYZE a2a_task")
    wrong = []
    with CaptureQueriesContext(connection) as queries:
        for params in ASKED:
            page = list_tasks(asked(**params))
            if page.next_token:
                list_tasks(asked(**params, pageToken=page.next_token))
        turns_before(asked(), "long")
        _check_burst("ann")
        list(Task.objects.filter(run_id=UUID(int=1)))
        with connection.cursor() as cursor:
            # Some are old, and none is.
            cursor.execute(FORGET, [86_400.0, 500])
            cursor.execute(FORGET, [86_400.0 * 365, 500])
    for sql in [it["sql"] for it in queries if "a2a_task" in it["sql"]]:
        plan = explained(sql)
        if touched(plan) > MOST_TOUCHED:
            wrong.append((sql[-400:], plan))
    assert wrong == [], "\n".join(map(str, wrong))
