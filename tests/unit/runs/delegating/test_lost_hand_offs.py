"""What cannot be kept of a hand-off holds up no run and no person, and is told (HO-03, EV-07)."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection

from handoffs.models import Version
from handoffs.read_thread import read_thread
from liyagent.approvals.models import Approval
from liyagent.audit.models import AuditRow
from runs.saga_handoff import thread_of_saga
from sagas.models import Saga
from tests.databases import FreshDatabase
from tests.fakes.remote_agent import RemoteAgent
from tests.unit.runs.carrying.conftest import World, calls, says, world
from tests.unit.runs.carrying.test_compensation import fail, undoing, undone
from tests.unit.runs.carrying.test_hand_off import TWO
from tests.unit.runs.carrying.test_remote_agents import agent, asks
from tests.unit.runs.delegating.conftest import Cast, carry_all, cast, hands, works

__all__ = ["agent", "cast", "undoing", "world"]

TABLES = ("handoffs_snapshot", "handoffs_version", "handoffs_reading")
REFUSING = """
CREATE FUNCTION refuse_insert() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '23514'; END $$;
CREATE TRIGGER refuse_insert BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_insert();
"""


def refuse(table: str) -> None:
    """Let every insert into a table fail from now on."""
    with connection.cursor() as cursor:
        cursor.execute(REFUSING.format(table=table))


def problems() -> str:
    """What is told of all threads of which something was lost."""
    rows = AuditRow.objects.filter(action="agent.handoff", detail__has_key="lost")
    threads = {it.detail["thread"] for it in rows}
    assert threads, "it is audited"
    return " ".join(problem for it in threads for problem in read_thread(it).problems)


@pytest.mark.promise("HO-03", "EV-07")
@pytest.mark.parametrize("table", TABLES)
def test_a_delegation_goes_on_without_what_cannot_be_kept_of_it(
    world: World, cast: Cast, table: str
) -> None:
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": works("reader")}
    run = world.start()
    refuse(table)
    carry_all(world)
    run.refresh_from_db()
    assert (run.status, run.losses) == ("answered", 0)
    assert "could not be kept (SQLSTATE 23514)" in problems()


@pytest.mark.promise("HO-03", "EV-07")
@pytest.mark.parametrize("table", TABLES)
def test_so_does_a_run_that_asks_a_remote_agent(
    world: World, agent: RemoteAgent, table: str
) -> None:
    world.start(calls(asks()), says("full"))
    refuse(table)
    assert world.process().carry().status == "answered"
    assert "could not be kept" in problems()


@pytest.mark.promise("HO-03", "SG-08")
@pytest.mark.parametrize("table", TABLES[:2])
def test_a_failed_run_is_put_before_a_person_all_the_same(undoing: World, table: str) -> None:
    refuse(table)
    run = fail(undoing, *TWO)
    undone(undoing)
    assert Saga.objects.get().handoff_id == str(Approval.objects.get(kind="saga").id)
    told = read_thread(thread_of_saga(run.id))
    assert (told.chain_holds, told.versions) == (False, [])


@pytest.fixture
def locked(fresh_db: FreshDatabase) -> Iterator[None]:
    """Somebody works on the table of versions, and is not done."""
    with psycopg.connect(fresh_db.url) as other:
        other.execute("LOCK TABLE handoffs_version IN SHARE MODE")
        yield
        other.rollback()


@pytest.mark.promise("HO-03", "EV-07")
def test_a_table_that_is_locked_is_waited_for_a_moment_only(
    world: World, cast: Cast, locked: None
) -> None:
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": works("reader")}
    run = world.start()
    carry_all(world)
    run.refresh_from_db()
    assert run.status == "answered"
    assert not Version.objects.exists()
    assert "SQLSTATE 55P03" in problems()
