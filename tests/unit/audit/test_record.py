"""An audit row rides in the transaction of what it tells of, by the database's clock."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest
from django.db import transaction

from liyagent.audit.models import AuditRow
from liyagent.audit.record import OWN_WORK, record
from tests.databases import FreshDatabase


class Undone(Exception):
    """The change did not happen."""


@pytest.mark.django_db
def test_a_row_holds_what_was_told() -> None:
    run, correlation = uuid4(), uuid4()
    record(
        "agent.run.crash_resumed",
        actor="agent:helper",
        detail={"step": 3, "word": "gr\u00fc\u00df \U0001f525", "large": 2**60},
        mission="m-1",
        correlation_id=correlation,
        run_id=run,
        request_id="r-1",
    )
    row = AuditRow.objects.get()
    assert (row.action, row.actor, row.mission) == (
        "agent.run.crash_resumed",
        "agent:helper",
        "m-1",
    )
    assert (row.run_id, row.correlation_id, row.request_id) == (run, correlation, "r-1")
    assert row.detail == {"step": 3, "word": "gr\u00fc\u00df \U0001f525", "large": 2**60}
    assert row.at.tzinfo is not None


@pytest.mark.django_db
def test_a_row_needs_no_more_than_an_action_and_an_actor() -> None:
    record("config.changed", actor="user:ada")
    row = AuditRow.objects.get()
    assert (row.mission, row.request_id, row.detail) == (OWN_WORK, "", {})
    assert row.run_id is row.correlation_id is None


def change_and_fail() -> None:
    """Record in a transaction that comes to nothing."""
    with transaction.atomic():
        record("config.changed", actor="user:ada")
        raise Undone


def test_a_row_goes_with_the_change_that_was_undone(fresh_db: FreshDatabase) -> None:
    with pytest.raises(Undone):
        change_and_fail()
    with psycopg.connect(fresh_db.url) as other:
        assert other.execute("SELECT count(*) FROM audit_auditrow").fetchone() == (0,)


def test_a_row_s_time_is_the_one_clock_s(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as connection:
        connection.execute(
            "CREATE OR REPLACE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql VOLATILE"
            " AS $$ SELECT '2031-01-01T00:00:00Z'::timestamptz $$"
        )
        record("config.changed", actor="user:ada")
    assert AuditRow.objects.get().at.year == 2031
