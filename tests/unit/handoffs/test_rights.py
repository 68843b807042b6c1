"""Who serves adds hand-offs, and may change none (HO-02)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import ProgrammingError, connection

from handoffs.models import Reading, Snapshot, Version
from handoffs.note_reading import note_reading
from handoffs.open_thread import open_thread
from handoffs.read_thread import read_thread
from handoffs.revise import revise
from liyagent.operation.database_roles import roles_sql
from tests.databases import FreshDatabase

TABLES = [it._meta.db_table for it in (Snapshot, Version, Reading)]


@pytest.fixture
def as_runtime(fresh_db: FreshDatabase) -> Iterator[str]:
    """Serve as a role that owns nothing."""
    role = f"runtime_{fresh_db.name}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {role}")
        cursor.execute(roles_sql(role))
        cursor.execute(f"SET ROLE {role}")
    yield role
    with connection.cursor() as cursor:
        cursor.execute(f"RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}")


@pytest.mark.promise("HO-02")
def test_who_serves_opens_revises_and_reads(as_runtime: str) -> None:
    first = open_thread(sender="a", recipient="b", kind="note", body=1, actor="ann").version
    second = revise(thread=first.thread, expected_version=1, body=2, actor="ann").version
    note_reading(thread=first.thread, number=2, digest=second.snapshot_id, reader="bob")
    told = read_thread(first.thread)
    assert (told.chain_holds, len(told.versions), len(told.readings)) == (True, 2, 1)


@pytest.mark.promise("HO-02")
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "statement", ["UPDATE {} SET id = id", "DELETE FROM {}", "TRUNCATE {} CASCADE"]
)
def test_who_serves_changes_nothing(as_runtime: str, table: str, statement: str) -> None:
    column = "digest" if table == "handoffs_snapshot" else "id"
    with (
        connection.cursor() as cursor,
        pytest.raises(ProgrammingError, match="permission denied"),
    ):
        cursor.execute(statement.format(table).replace("id = id", f"{column} = {column}"))
