"""Which missions have a row, and what it says."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest
from django.db import connection, transaction

from liyagent.audit.record import record
from missions.context import Stamp, stamped
from missions.models import Mission
from tests.databases import FreshDatabase

LOCK_WAIT = "SET lock_timeout = '50ms'"
ADD = "SELECT liyagent_audit('test', %s, %s, NULL, NULL, 'req-2', '{}'::jsonb)"


def age(seconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE missions_mission SET last_seen = last_seen - make_interval(secs => %s)",
            [seconds],
        )


@pytest.mark.promise("MI-06")
def test_a_named_mission_is_noted_with_the_first_row_that_bears_it(fresh_db: FreshDatabase) -> None:
    with stamped(Stamp(request_id="req-1", mission="INC-1")):
        record("test.first", actor="ann")
        record("test.second", actor="kim")
    mission = Mission.objects.get()
    assert (mission.id, mission.first_by) == ("INC-1", "ann")
    assert mission.first_seen == mission.last_seen


@pytest.mark.promise("MI-02")
def test_what_stands_in_for_a_mission_is_noted_nowhere(fresh_db: FreshDatabase) -> None:
    correlation_id = uuid4()
    with stamped(Stamp(request_id="req-1", mission="")):
        record("test.of_a_request", actor="ann")
    with stamped(Stamp(request_id="req-1", mission="", correlation_id=correlation_id)):
        record("test.of_a_run", actor="ann", correlation_id=correlation_id)
    record("test.of_nothing", actor="ann")
    assert not Mission.objects.exists()


def test_last_seen_moves_on_once_it_is_a_minute_old(fresh_db: FreshDatabase) -> None:
    record("test", actor="ann", mission="INC-1", request_id="req-1")
    first = Mission.objects.get()
    record("test", actor="kim", mission="INC-1", request_id="req-1")
    assert Mission.objects.get().last_seen == first.last_seen
    age(61)
    record("test", actor="kim", mission="INC-1", request_id="req-1")
    mission = Mission.objects.get()
    assert mission.last_seen > first.last_seen
    assert (mission.first_seen, mission.first_by) == (first.first_seen, "ann")


def test_nobody_waits_for_another_who_notes_the_same_mission(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as other:
        other.execute(LOCK_WAIT)
        with transaction.atomic():
            record("test", actor="ann", mission="INC-1", request_id="req-1")
            other.execute(ADD, ["kim", "INC-1"])
        assert Mission.objects.get().first_by == "ann"
        age(61)
        with transaction.atomic():
            record("test", actor="ann", mission="INC-1", request_id="req-1")
            other.execute(ADD, ["kim", "INC-1"])


def test_a_mission_whose_row_was_undone_is_noted_by_the_next(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as other:
        with transaction.atomic():
            record("test", actor="ann", mission="INC-1", request_id="req-1")
            other.execute(ADD, ["kim", "INC-1"])
            transaction.set_rollback(True)
        assert not Mission.objects.exists()
        other.execute(ADD, ["kim", "INC-1"])
    assert Mission.objects.get().first_by == "kim"
