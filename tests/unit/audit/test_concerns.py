"""While a confidential concern is open, what it is about leaves no stamps in the audit log (MI-03)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from importlib import import_module
from uuid import uuid4

import psycopg
import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.db import connection

from liyagent.audit.concerns import close_concern, find_concern, list_concerns, open_concern
from liyagent.audit.errors import AlreadyClosed, AlreadyOpen, ConcernNotFound
from liyagent.audit.models import AuditRow
from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from missions.context import Stamp, stamped
from tests.databases import FreshDatabase

STAMPED = ("INC-7", "r-1", "10.0.0.9", False)
BARE = ("", "", "", True)


@pytest.fixture(autouse=True)
def asked(fresh_db: FreshDatabase) -> Iterator[None]:
    with stamped(Stamp(request_id="r-1", mission="INC-7", address="10.0.0.9")):
        yield


def stamps_of_row_by(actor: str, **more: str) -> tuple[object, ...]:
    record("thing.done", actor=actor, **more)  # type: ignore[arg-type]
    row = AuditRow.objects.filter(action="thing.done").latest("id")
    return row.mission, row.request_id, row.address, row.is_confidential


@pytest.mark.promise("MI-03")
def test_what_the_person_does_whom_it_is_about_bears_no_stamps_and_all_else_does() -> None:
    concern = open_concern(opened_by="ann")
    assert stamps_of_row_by("ann") == BARE
    assert stamps_of_row_by("anna") == stamps_of_row_by("agent:ann") == STAMPED
    close_concern(concern.pk, closed_by="kim")
    assert stamps_of_row_by("ann") == STAMPED


@pytest.mark.promise("MI-03")
def test_a_mission_that_it_is_about_stands_on_no_row() -> None:
    concern = open_concern(opened_by="kim", mission="INC-7")
    assert stamps_of_row_by("ann") == stamps_of_row_by("agent:triage") == BARE
    assert stamps_of_row_by("ann", mission="INC-8")[0] == "INC-8"
    close_concern(concern.pk, closed_by="kim")
    assert stamps_of_row_by("ann") == STAMPED


@pytest.mark.promise("MI-03")
def test_what_is_written_of_a_run_that_was_started_under_it_stays_as_it_began() -> None:
    concern = open_concern(opened_by="ann")
    chain, other = uuid4(), uuid4()
    record("agent.run.started", actor="ann", run_id=chain, correlation_id=chain)
    # What ann does to another's run says nothing of that run.
    record("agent.run.stop_requested", actor="ann", run_id=other, correlation_id=other)
    close_concern(concern.pk, closed_by="kim")
    for run, child, bare in ((chain, uuid4(), True), (other, uuid4(), False)):
        record("agent.run.ended", actor="agent:triage", run_id=child, correlation_id=run)
        row = AuditRow.objects.latest("id")
        assert (row.is_confidential, row.mission == "") == (bare, bare)


def test_who_opened_and_closed_it_is_told_and_what_it_is_about_is_not() -> None:
    concern = open_concern(opened_by="kim", actor="ann", reference="HR-12")
    close_concern(concern.pk, closed_by="lea")
    rows = AuditRow.objects.filter(action__startswith="concern.").order_by("id")
    assert [(it.action, it.actor, it.detail) for it in rows] == [
        ("concern.opened", "kim", {"concern": concern.pk}),
        ("concern.closed", "lea", {"concern": concern.pk}),
    ]
    found = find_concern(concern.pk)
    assert (found.about, found.subject, found.reference) == ("actor", "ann", "HR-12")
    assert (found.opened_by, found.closed_by) == ("kim", "lea")
    assert found.closed_at is not None
    assert found.closed_at >= found.opened_at


def test_whoever_closes_one_about_themselves_leaves_no_stamps() -> None:
    close_concern(open_concern(opened_by="ann").pk, closed_by="ann")
    assert AuditRow.objects.get(action="concern.closed").is_confidential


def test_what_cannot_be_a_concern_is_refused_and_changes_nothing() -> None:
    for given in (
        {"actor": "ann", "mission": "INC-7"},
        {"mission": "INC 7"},
        {"actor": "a\nb"},
        {"actor": "a" * 201},
        {"reference": "r" * 121},
        {"reference": "a\x00"},
    ):
        with pytest.raises(BadInput):
            open_concern(opened_by="kim", **given)
    concern = open_concern(opened_by="kim", actor="ann")
    with pytest.raises(AlreadyOpen):
        open_concern(opened_by="lea", actor="ann")
    close_concern(concern.pk, closed_by="kim")
    with pytest.raises(AlreadyClosed):
        close_concern(concern.pk, closed_by="kim")
    for missing in (0, -1, concern.pk + 1, 2**70):
        with pytest.raises(ConcernNotFound):
            close_concern(missing, closed_by="kim")
    assert AuditRow.objects.count() == 2
    assert open_concern(opened_by="lea", actor="ann").pk > concern.pk


def test_of_two_who_close_it_at_once_one_does(fresh_db: FreshDatabase) -> None:
    concern = open_concern(opened_by="kim")
    told: list[object] = []

    def close() -> None:
        try:
            told.append(close_concern(concern.pk, closed_by="lea"))
        except AlreadyClosed as error:
            told.append(error.code)
        finally:
            connection.close()

    with psycopg.connect(fresh_db.url) as first:
        first.execute("SELECT 1 FROM audit_concern FOR UPDATE")
        second = threading.Thread(target=close)
        second.start()
        until_it_waits(fresh_db)
        first.execute("UPDATE audit_concern SET closed_at = liyagent_now(), closed_by = 'kim'")
    second.join()
    assert told == ["concern.already_closed"]
    assert find_concern(concern.pk).closed_by == "kim"
    assert not AuditRow.objects.filter(action="concern.closed").exists()


def until_it_waits(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as watching:
        waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        while watching.execute(waits).fetchone() != (1,):
            time.sleep(0.01)


def test_concerns_are_listed_a_page_at_a_time() -> None:
    opened = [open_concern(opened_by="kim", actor=f"a{n}").pk for n in range(5)]
    close_concern(opened[1], closed_by="kim")
    first = list_concerns({"limit": "2", "state": "open"})
    rest = list_concerns({"limit": "2", "state": "open", "cursor": first.next_cursor})
    assert [it.pk for it in (*first.rows, *rest.rows)] == [opened[n] for n in (4, 3, 2, 0)]
    assert rest.next_cursor == ""
    assert [it.pk for it in list_concerns({"state": "closed"}).rows] == [opened[1]]
    for wrong in ({"state": "x"}, {"about": "actor"}, {"cursor": "x"}, {"limit": "0"}):
        with pytest.raises(BadInput):
            list_concerns(wrong)


def test_auditors_of_an_earlier_release_handle_concerns_and_nobody_else_does() -> None:
    Permission.objects.filter(content_type__model="concern").delete()
    with connection.schema_editor() as editor:
        import_module("liyagent.access.migrations.0005_auditors_handle_concerns").give(apps, editor)
    given = Permission.objects.filter(content_type__model="concern")
    assert dict(given.values_list("codename", "name")) == {
        "view_concern": "Can view concern",
        "handle_concern": "Can open and close confidential concerns",
    }
    for it in given:
        assert list(Group.objects.filter(permissions=it).values_list("name", flat=True)) == [
            "auditor"
        ]
