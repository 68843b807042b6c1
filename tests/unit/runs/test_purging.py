"""The round that purges: in one process at a time, once a day, some seconds at a time."""

from __future__ import annotations

import psycopg
import pytest

from events.models import PurgeCertificate
from runs.purging import LEASE, purge_now_and_then
from tests.databases import FreshDatabase
from tests.unit.events.aged import Record
from tests.unit.runs.carrying.conftest import never

AGE = "UPDATE leases_lease SET until = until - interval '1 day' WHERE name = %s"


@pytest.mark.promise("EV-08")
def test_a_process_purges_what_is_due_once_a_day_and_no_other_beside_it(
    fresh_db: FreshDatabase,
) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as session:
        record = Record(session)
        record.chain(days=400)
        assert purge_now_and_then(never) == 3
        record.chain(days=401)
        assert purge_now_and_then(never) == 0
        session.execute(AGE, [LEASE])
        assert purge_now_and_then(never) == 3
    assert PurgeCertificate.objects.count() == 2


def test_what_a_look_leaves_is_taken_up_a_minute_later_and_not_a_day(
    fresh_db: FreshDatabase,
) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as session:
        record = Record(session)
        record.chain(days=400)
        assert purge_now_and_then(lambda: True) == 0
        (left,) = session.execute(
            "SELECT until < liyagent_now() + interval '61 seconds' FROM leases_lease WHERE name = %s",
            [LEASE],
        ).fetchone() or (None,)
        assert left is True
        session.execute(AGE, [LEASE])
        assert purge_now_and_then(never) == 3
