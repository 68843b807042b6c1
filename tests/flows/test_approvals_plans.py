"""What the database does for a page, and for one, of 200,000 requests, whatever is asked."""

from __future__ import annotations

from collections.abc import Mapping

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from liyagent.approvals.listing import MOST_LOOKED_THROUGH, list_approvals
from liyagent.approvals.models import Approval
from liyagent.approvals.told import told_of
from tests.databases import FreshDatabase
from tests.flows.test_approvals_console_plans import FILL, MANY
from tests.flows.test_console_plans import explained, touched

# What is looked through for the other filters, twice, and some.
MOST_TOUCHED = 2 * MOST_LOOKED_THROUGH + 5_000
NOBODYS = "00000000-0000-7000-8000-000000000001"
ASKED: tuple[Mapping[str, str], ...] = (
    {},
    {"status": "pending"},
    {"status": "consumed"},
    {"status": "rejected"},
    {"agent": "agent-4"},
    {"agent": "rare"},
    {"agent": "rare", "status": "pending"},
    {"agent": "rare", "status": "consumed"},
    {"kind": "other"},
    {"kind": "other", "status": "pending"},
    {"mission": "M-77"},
    {"mission": "M-large", "status": "pending"},
    {"mission": "M-large", "status": "rejected"},
    {"mission": "M-large", "agent": "rare"},
    {"run": NOBODYS},
    {"run": NOBODYS, "status": "pending"},
)


@pytest.mark.timeout(180)  # for the filling
def test_nothing_that_is_asked_walks_through_all_requests(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        filling.execute(FILL, [MANY])
        filling.execute("VACUUM ANALYZE approvals_approval")
    wrong = []
    with CaptureQueriesContext(connection) as queries:
        for asked in ASKED:
            page = list_approvals(asked)
            if page.next_cursor:
                list_approvals({**asked, "cursor": page.next_cursor})
        told_of(Approval.objects.filter(digest="same")[:1].get().id, with_words=False)
    for sql in [it["sql"] for it in queries if "approvals_approval" in it["sql"]]:
        plan = explained(sql)
        if touched(plan) > MOST_TOUCHED:
            wrong.append((sql[-400:], plan))
    assert wrong == [], "\n".join(map(str, wrong))
