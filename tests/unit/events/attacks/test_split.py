"""`manage.py database_roles` and `migrate` split who serves from who owns the tables, again and again."""

from __future__ import annotations

import dataclasses
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from psycopg.errors import InsufficientPrivilege, ObjectNotInPrerequisiteState

from events.purge import Purged, purge_events
from liyagent.audit.models import AuditRow
from liyagent.core.appendonly import AppendOnly
from liyagent.core.definer import RunsAsOwner
from liyagent.core.errors import BadInput
from liyagent.operation.database_roles import NotSplit, as_owner, roles_sql
from tests.databases import FreshDatabase
from tests.unit.events.aged import Record
from tests.unit.events.attacks.conftest import Roles

pytestmark = pytest.mark.promise("ruling 28")


@pytest.fixture
def owned(served: Roles, monkeypatch: pytest.MonkeyPatch) -> Roles:
    """The environment of who migrates: both addresses are set."""
    change(monkeypatch, owner_database_url=served.owner_url)
    return served


def change(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Change the settings as a process read them."""
    conf = dataclasses.replace(settings.LIYAGENT, **changes)
    monkeypatch.setattr(settings, "LIYAGENT", conf)


def may(roles: Roles, what: str, table: str) -> bool:
    """Whether who serves has this right."""
    with roles.as_runtime() as session:
        row = session.execute("SELECT has_table_privilege(%s, %s)", [table, what]).fetchone()
    return bool(row and row[0])


def test_the_command_takes_away_what_was_given_too_much(
    owned: Roles, capsys: pytest.CaptureFixture[str]
) -> None:
    with owned.as_owner() as session:
        session.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {owned.runtime}")
        session.execute("GRANT SELECT ON runs_run TO PUBLIC")
        session.execute(f"GRANT UPDATE (content) ON events_runevent TO {owned.runtime}")
        session.execute("GRANT EXECUTE ON FUNCTION liyagent_audit TO PUBLIC")
    call_command("database_roles")
    out = capsys.readouterr().out
    assert out.startswith(f"{owned.runtime} writes ")
    assert out.endswith("; events are kept 365 days at the least\n")
    assert not may(owned, "DELETE", "events_runevent")
    with owned.as_runtime() as session, pytest.raises(InsufficientPrivilege):
        session.execute("UPDATE events_runevent SET content = ''")
    with owned.as_owner() as session:
        loose = "SELECT count(*) FROM pg_class c, aclexplode(c.relacl) a WHERE a.grantee = 0 AND c.relname = 'runs_run'"
        assert session.execute(loose).fetchone() == (0,)
    audit = AuditRow.objects.get(action="database.roles")
    assert audit.actor.startswith("cli:")
    assert audit.detail["role"] == owned.runtime


def test_migrate_goes_as_the_owner_and_gives_the_rights_anew(owned: Roles) -> None:
    with owned.as_owner() as session:
        session.execute(f"REVOKE ALL ON runs_run FROM {owned.runtime}")
        session.execute("DELETE FROM django_migrations WHERE app = 'jobs'")
        session.execute(
            "INSERT INTO django_migrations (app, name, applied) SELECT 'jobs', 'x', now()"
        )
    call_command("migrate", "jobs", fake=True, verbosity=0)
    assert not may(owned, "UPDATE", "runs_run")
    call_command("migrate", verbosity=0)
    assert may(owned, "UPDATE", "runs_run")
    assert not may(owned, "DELETE", "runs_run")
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == (owned.runtime,)


def test_without_the_owners_address_who_serves_is_refused(served: Roles) -> None:
    with pytest.raises(
        NotSplit, match=r"connect as their owner; docs/database-roles.md shows how$"
    ):
        call_command("database_roles", role=served.runtime)
    with pytest.raises(DatabaseError, match=r"must be owner|permission denied"):
        call_command("migrate", "events", "0003", verbosity=0)


@pytest.mark.parametrize("who", ["owner", "postgres"])
def test_whoever_owns_the_tables_cannot_be_the_one_that_serves(roles: Roles, who: str) -> None:
    superuser = "SELECT rolname FROM pg_roles WHERE rolsuper ORDER BY 1 LIMIT 1"
    with roles.as_owner() as session:
        (name,) = session.execute(superuser).fetchone() or ("",)
        statement = roles_sql(roles.owner if who == "owner" else name)
        with pytest.raises(ObjectNotInPrerequisiteState):
            session.execute(statement)


def test_a_database_that_was_never_migrated_is_refused(roles: Roles) -> None:
    with roles.as_owner() as session:
        session.execute("ALTER TABLE django_migrations RENAME TO others")
        with pytest.raises(ObjectNotInPrerequisiteState, match="not migrated yet"):
            session.execute(roles_sql(roles.runtime))


@pytest.mark.parametrize("name", ["", "x" * 64, "ü" * 32, "a\nb", "a\x00b", "a$roles$b"])
def test_what_is_no_name_of_a_role_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="is no name of a role"):
        roles_sql(name)


def test_a_name_is_a_name_whatever_stands_in_it(roles: Roles, fresh_db: FreshDatabase) -> None:
    name = f"{roles.runtime}'; DROP TABLE runs_run; --\" {{}} %s"[:63]
    with psycopg.connect(fresh_db.url, autocommit=True) as session:
        try:
            session.execute(roles_sql(name))
            found = "SELECT has_table_privilege(%s, 'runs_run', 'UPDATE')"
            assert session.execute(found, [name]).fetchone() == (True,)
        finally:
            session.execute(psycopg.sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(psycopg.sql.Identifier(name)))  # fmt: skip


def test_what_a_later_migration_makes_can_be_used_at_once_and_no_more(served: Roles) -> None:
    with served.as_owner() as session:
        session.execute(
            "CREATE TABLE later (n int);"
            "CREATE FUNCTION liyagent_later() RETURNS int LANGUAGE sql AS 'INSERT INTO later VALUES (1) RETURNING n'"
        )
        session.execute(str(AppendOnly("later").sql))
        session.execute(str(RunsAsOwner("liyagent_later", table="later").sql))
        open_to_all = "SELECT has_function_privilege('public', 'liyagent_later()', 'EXECUTE')"
        assert session.execute(open_to_all).fetchone() == (False,)
    with served.as_runtime() as session:
        session.execute("INSERT INTO later VALUES (2)")
        assert session.execute("SELECT liyagent_later()").fetchone() == (1,)
        for statement in ("UPDATE later SET n = 3", "DELETE FROM later", "TRUNCATE later"):
            with pytest.raises(InsufficientPrivilege):
                session.execute(statement)


def test_who_could_write_a_table_by_hand_may_call_the_function_that_now_does(roles: Roles) -> None:
    """As in a deployment whose rights were given before there was such a function."""
    with roles.as_owner() as session:
        session.execute(f"ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE EXECUTE ON FUNCTIONS FROM {roles.runtime}")  # fmt: skip
        session.execute(
            "CREATE TABLE later (n int);"
            "CREATE FUNCTION liyagent_later() RETURNS int LANGUAGE sql AS 'INSERT INTO later VALUES (1) RETURNING n'"
        )
        session.execute(str(RunsAsOwner("liyagent_later", table="later").sql))
    with roles.as_runtime() as session:
        assert session.execute("SELECT liyagent_later()").fetchone() == (1,)


@pytest.mark.promise("EV-08")
def test_who_serves_purges_what_is_due_and_keeps_longer_but_not_shorter_than_the_owner(
    served: Roles, fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served.as_owner() as session:
        record = Record(session)
        young, old = record.chain(days=364), record.chain(days=400)
        change(monkeypatch, run_events_retention_days=1)
        assert purge_events(actor="x") == Purged(chains=1, events=3, is_whole=True)
        assert record.left() == {young}
        assert old not in record.left()
        change(monkeypatch, run_events_retention_days=500)
        older = record.chain(days=499)
        assert purge_events(actor="x").chains == 0
        assert record.left() == {young, older}
        row = "SELECT asked_by FROM events_purgecertificate"
        assert record.sql(row) == [(served.runtime,)]


def test_the_owner_says_for_how_long_at_the_least(
    owned: Roles, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, run_events_retention_days=90)
    call_command("database_roles", verbosity=0)
    with owned.as_owner() as session:
        record = Record(session)
        record.chain(days=91)
        assert purge_events(actor="x").chains == 1
    told = AuditRow.objects.get(action="events.retention")
    assert (told.actor, told.detail) == (f"database:{owned.owner}", {"before": 365, "days": 90})


def test_the_owner_is_left_again(owned: Roles) -> None:
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == (owned.owner,)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == (owned.runtime,)
    assert settings.LIYAGENT.database_url == owned.runtime_url
