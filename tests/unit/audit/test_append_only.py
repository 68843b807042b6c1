"""The logs refuse every change in the database itself (ruling 28)."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from tests.databases import FreshDatabase
from tests.unit.runs.sql import Connection, begin, flush

TABLES = ("audit_auditrow", "events_runevent")
CHANGES = (
    "UPDATE {} SET mission = 'another'",
    "UPDATE {} SET mission = mission",
    "DELETE FROM {}",
    "TRUNCATE {}",
    "TRUNCATE {} CASCADE",
    "MERGE INTO {} t USING (SELECT 1) s ON true WHEN MATCHED THEN DELETE",
)


@pytest.fixture
def logged(fresh_db: FreshDatabase) -> Iterator[Connection]:
    """Give the owner's session to a database with one audit row and two events."""
    with psycopg.connect(fresh_db.url, autocommit=True) as connection:
        assert flush(connection, begin(connection), 3)
        yield connection


def rows(connection: Connection, table: str) -> list[tuple[object, ...]]:
    """Return all of a table as text."""
    return connection.execute(
        sql.SQL("SELECT t::text FROM {} t ORDER BY 1").format(sql.Identifier(table))
    ).fetchall()


@pytest.mark.promise("EV-03")
@pytest.mark.parametrize("replication", ["origin", "replica", "local"])
def test_update_delete_and_truncate_are_refused_for_the_owner_in_every_replication_role(
    logged: Connection, replication: str
) -> None:
    logged.execute(f"SET session_replication_role = {replication}")
    for table in TABLES:
        owner = "SELECT pg_get_userbyid(relowner) = current_user FROM pg_class WHERE relname = %s"
        assert logged.execute(owner, [table]).fetchone() == (True,)
        before = rows(logged, table)
        assert before
        for change in CHANGES:
            with pytest.raises(psycopg.errors.RestrictViolation, match="append-only"):
                logged.execute(sql.SQL(change).format(sql.Identifier(table)))
        assert rows(logged, table) == before


@pytest.mark.promise("EV-03")
def test_an_insert_that_would_change_a_row_it_meets_is_refused(logged: Connection) -> None:
    before = rows(logged, "events_runevent")
    with pytest.raises(psycopg.errors.RestrictViolation):
        logged.execute(
            "INSERT INTO events_runevent SELECT * FROM events_runevent"
            " ON CONFLICT (correlation_id, number) DO UPDATE SET content = 'changed'"
        )
    assert rows(logged, "events_runevent") == before


@pytest.mark.promise("EV-03")
def test_a_change_is_refused_inside_a_larger_transaction_which_then_keeps_nothing(
    logged: Connection,
) -> None:
    before = rows(logged, "audit_auditrow")
    both = (
        "SELECT liyagent_audit('a', 'b', 'c', NULL, NULL, '', '{}');"
        "DELETE FROM audit_auditrow WHERE action = 'a'"
    )
    with pytest.raises(psycopg.errors.RestrictViolation):
        logged.execute(both)
    assert rows(logged, "audit_auditrow") == before
