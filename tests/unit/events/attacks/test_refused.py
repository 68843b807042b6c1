"""What whoever serves may not do to the record, and what the owner may not do without taking a trigger off first."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege, RestrictViolation

from liyagent.operation.database_roles import READ
from tests.unit.events.attacks.conftest import Roles
from tests.unit.runs.carrying.conftest import World, calls, says

pytestmark = [pytest.mark.promise("EV-03"), pytest.mark.promise("ruling 28")]

ATTACKS = {
    "edit": "UPDATE events_runevent SET content = '{}' WHERE number = 2",
    "edit and hash": "UPDATE events_runevent SET content = '{}', hash = sha256('x') WHERE number = 2",
    "drop": "DELETE FROM events_runevent WHERE number = 2",
    "reorder": "UPDATE events_runevent SET number = 5 - number WHERE number IN (2, 3)",
    "cut the tail": "DELETE FROM events_runevent WHERE number > 2",
    "delete a run with its head": "DELETE FROM events_eventhead",
    "forget the head": "TRUNCATE events_eventhead",
    "truncate": "TRUNCATE events_runevent",
    "truncate with all that hangs on it": "TRUNCATE events_runevent, events_eventhead CASCADE",
    "edit the audit": "UPDATE audit_auditrow SET actor = 'nobody'",
    "drop from the audit": "DELETE FROM audit_auditrow",
    "forge a certificate": "INSERT INTO events_purgecertificate (correlation_id, count, hash, kept_days, at, asked_by)"
    " SELECT correlation_id, count, hash, 0, now() - interval '400 days', '' FROM events_eventhead",
    "forget the retention": "TRUNCATE events_retention",
}
# The owner can do these, and each is seen: `test_found.py`.
OWNERS = {
    "put an older head back": "UPDATE events_eventhead SET count = 2",
    "forge an event by hand": "INSERT INTO events_runevent SELECT correlation_id, 99, run_id, at, kind, mission, recording,"
    " content, hash, tag FROM events_runevent WHERE number = 1",
    "forge an audit row by hand": "INSERT INTO audit_auditrow (at, action, actor, mission, request_id, detail)"
    " VALUES (now(), 'a', 'b', 'c', '', '{}')",
    "keep events for a day": "UPDATE events_retention SET days = 1",
    "say that nothing is kept": "DELETE FROM events_retention",
    "delete a run": "DELETE FROM runs_run",
    "delete a call": "DELETE FROM runs_call",
    "delete a ticket": "DELETE FROM tickets_ticket",
    "forget that it was rolled back": "DELETE FROM events_rollback",
    "say that a migration was made": "INSERT INTO django_migrations (app, name, applied) VALUES ('a', 'b', now())",
    "disable a trigger": "ALTER TABLE events_runevent DISABLE TRIGGER events_runevent_refuse_rows",
    "disable all triggers": "ALTER TABLE events_runevent DISABLE TRIGGER ALL",
    "drop a trigger": "DROP TRIGGER events_runevent_refuse_rows ON events_runevent",
    "replace what refuses": "CREATE OR REPLACE FUNCTION liyagent_refuse_change() RETURNS trigger LANGUAGE plpgsql"
    " AS $$ BEGIN RETURN OLD; END $$",
    "move the clock": "CREATE OR REPLACE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql"
    " AS $$ SELECT now() + interval '400 days' $$",
    "take the table away": "ALTER TABLE events_runevent RENAME TO another",
    "drop the table": "DROP TABLE events_runevent",
    "change a column": "ALTER TABLE events_runevent ALTER COLUMN content TYPE varchar(2)",
    "make a table": "CREATE TABLE more (n int)",
    "make a function": "CREATE FUNCTION more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
}


@pytest.fixture
def told(served_world: World, roles: Roles) -> Roles:
    """A run that ended, with its record."""
    run = served_world.start(calls(("v/look", {}), ("v/keyed", {"title": "disk"})), says("done"))
    assert served_world.process().carry().status == "answered"
    assert len(served_world.events(run)) >= 5
    return roles


def state(session: psycopg.Connection[Any]) -> list[Any]:
    """All of the record."""
    return [session.execute(f"SELECT t::text FROM {table} t ORDER BY 1").fetchall() for table in (*READ, "events_eventhead", "runs_run")]  # fmt: skip


def test_who_serves_may_change_nothing_of_the_record(told: Roles) -> None:
    with told.as_owner() as owner, told.as_runtime() as session:
        before = state(owner)
        for attack, statement in {**ATTACKS, **OWNERS}.items():
            with pytest.raises(InsufficientPrivilege):
                session.execute(statement)
            assert state(owner) == before, attack


@pytest.mark.parametrize("replication", ["", "replica", "local"])
def test_the_owner_too_is_refused_as_long_as_the_triggers_stand(
    told: Roles, replication: str
) -> None:
    with told.as_owner() as session:
        if replication:
            with pytest.raises(InsufficientPrivilege):
                session.execute(f"SET session_replication_role = {replication}")
        before = state(session)
        for attack, statement in ATTACKS.items():
            with pytest.raises(RestrictViolation):
                session.execute(statement)
            assert state(session) == before, attack


def test_what_a_session_makes_for_itself_is_not_taken_for_ours(told: Roles) -> None:
    """The functions of the owner look in their own schema first, and in a session's temporary one last."""
    with told.as_owner() as owner, told.as_runtime() as session:
        before = state(owner)
        session.execute("CREATE TEMP TABLE events_retention AS SELECT 1::smallint AS id, 1 AS days")
        session.execute("CREATE TEMP TABLE runs_run AS SELECT * FROM public.runs_run WHERE false")
        session.execute(
            "CREATE FUNCTION pg_temp.liyagent_now() RETURNS timestamptz LANGUAGE sql"
            " AS $$ SELECT now() + interval '400 days' $$"
        )
        session.execute("SET search_path = pg_temp, public")
        purged = session.execute(
            "SELECT chains FROM public.liyagent_purge_events(1, '00000000-0000-0000-0000-000000000000', 99, 99, 'x')"
        ).fetchone()
        assert purged == (0,)
        assert state(owner) == before


def test_a_stranger_to_the_database_may_neither_read_nor_write_it(told: Roles) -> None:
    """PUBLIC can connect; a function that writes as its owner is not for everybody."""
    with told.as_owner() as session:
        found = session.execute(
            "SELECT p.proname FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a"
            " WHERE p.pronamespace = 'public'::regnamespace AND a.grantee = 0"
        ).fetchall()
        assert found == []
        tables = session.execute(
            "SELECT c.relname FROM pg_class c, aclexplode(c.relacl) a"
            " WHERE c.relnamespace = 'public'::regnamespace AND a.grantee = 0"
        ).fetchall()
        assert tables == []


def test_each_table_that_refuses_changes_can_only_be_added_to_by_who_serves(told: Roles) -> None:
    """A new append-only table is among them without being named."""
    with told.as_owner() as session:
        loose = session.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_trigger t ON t.tgrelid = c.oid"
            " WHERE t.tgname LIKE '%%refuse_rows' AND has_table_privilege(%s, c.oid, 'UPDATE, DELETE, TRUNCATE')",
            [told.runtime],
        ).fetchall()
        assert loose == []


def test_the_functions_that_write_the_record_do_so_as_their_owner(told: Roles) -> None:
    """A migration that replaces one has to say so again (`RunsAsOwner`)."""
    with told.as_owner() as session:
        rows = session.execute(
            "SELECT proname, prosecdef, proconfig FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
            " AND proname IN ('liyagent_audit', 'liyagent_append_events', 'liyagent_purge_events') ORDER BY 1"
        ).fetchall()
    wanted = ["search_path=public, pg_temp"]
    assert rows == [
        ("liyagent_append_events", True, wanted),
        ("liyagent_audit", True, wanted),
        ("liyagent_purge_events", True, wanted),
    ]
