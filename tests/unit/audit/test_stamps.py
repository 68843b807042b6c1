"""An audit row's stamps are those of the work's context, whatever the code passes as detail (MI-03, MI-07)."""

from __future__ import annotations

import threading
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import connection

from liyagent.audit.models import AuditRow
from liyagent.audit.record import OWN_WORK, record
from missions.context import Stamp, stamped
from tests.databases import FreshDatabase

WORK = Stamp(request_id="r-1", mission="INC-7", agent="triage", address="10.0.0.9")


def last() -> AuditRow:
    return AuditRow.objects.latest("id")


@pytest.mark.promise("MI-03")
@pytest.mark.promise("MI-07")
@pytest.mark.django_db
def test_what_is_not_given_is_taken_from_the_work() -> None:
    with stamped(WORK):
        record("thing.done", actor="ann")
    row = last()
    assert (row.mission, row.request_id, row.address) == ("INC-7", "r-1", "10.0.0.9")
    assert (row.actor, row.agent) == ("ann", "triage")


@pytest.mark.promise("MI-07")
@pytest.mark.django_db
@pytest.mark.parametrize("work", [WORK, Stamp(request_id="r-1", mission="")])
def test_no_key_of_a_detail_sets_a_stamp_or_passes_for_one(work: Stamp) -> None:
    forged = {
        "mission": "INC-666",
        "request_id": "r-666",
        "address": "6.6.6.6",
        "actor": "mallory",
        "agent": "named",
        "within": {"mission": "INC-666"},
    }
    with stamped(work):
        record("thing.done", actor="ann", detail=forged)
    row = last()
    assert (row.mission, row.request_id) == (work.mission or "r-1", "r-1")
    assert (row.address, row.actor, row.agent) == (work.address, "ann", work.agent)
    # What is within is a fact of the thing, as an agent's key is of one that was saved.
    assert row.detail == {"agent": "named", "within": {"mission": "INC-666"}}


@pytest.mark.promise("MI-07")
def test_nor_does_one_that_is_written_in_the_database_itself(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as hot:
        hot.execute(
            "SELECT liyagent_audit('a.b', 'agent:triage', 'INC-7', NULL, NULL, 'r-1',"
            """ '{"mission": "INC-666", "actor": "x", "step": 1}')"""
        )
    row = last()
    assert (row.actor, row.agent, row.mission) == ("agent:triage", "triage", "INC-7")
    assert row.detail == {"step": 1}


@pytest.mark.promise("MI-03")
@pytest.mark.django_db
def test_the_mission_is_the_runs_and_the_request_is_of_who_does_it() -> None:
    with stamped(WORK):
        record("agent.approval.decided", actor="ann", mission="INC-8", request_id="of-the-run")
    row = last()
    assert (row.mission, row.request_id, row.address) == ("INC-8", "r-1", "10.0.0.9")
    record("agent.approval.expired", actor="system", mission="INC-8", request_id="of-the-run")
    assert (last().request_id, last().address) == ("of-the-run", "")


@pytest.mark.promise("MI-03")
@pytest.mark.django_db
def test_a_row_about_a_run_names_its_agent_whoever_writes_it() -> None:
    run = uuid4()
    record("agent.run.started", actor="ann", run_id=run, agent="triage")
    for actor, agent in (("bob", "triage"), ("agent:helper", "helper"), ("system", "triage")):
        record("agent.run.looked_at", actor=actor, run_id=run)
        assert last().agent == agent
    record("agent.run.looked_at", actor="bob", run_id=UUID(int=7))
    assert last().agent == ""


@pytest.mark.django_db
def test_an_address_longer_than_one_ends_no_change() -> None:
    with stamped(Stamp(request_id="r", mission="", address="unix:" + "x" * 300)):
        record("thing.done", actor="ann")
    assert last().address == ("unix:" + "x" * 300)[:64]


@pytest.mark.promise("MI-02")
def test_what_a_process_does_for_nobody_is_one_piece_of_work(fresh_db: FreshDatabase) -> None:
    def written() -> None:
        record("thing.done", actor="system")
        connection.close()

    with stamped(WORK):
        thread = threading.Thread(target=written)
        thread.start()
        thread.join()
    assert (last().mission, last().address) == (OWN_WORK, "")
