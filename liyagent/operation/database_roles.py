"""Split the database role that serves from the one that owns the tables (ruling 28)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection, connections, transaction
from django.db.backends.utils import CursorWrapper
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from events.retention import keep_for, least_days
from liyagent.audit.record import record
from liyagent.core.conf import Conf
from liyagent.core.database import django_database
from liyagent.core.errors import BadInput, LiyagentError

SQL = Path(__file__).with_name("roles.sql")
RUNTIME_ROLE = "liyagent_serve"
LONGEST_NAME = 63
# Rows of these are written by functions of the owner, or by the owner alone.
READ = (
    "audit_auditrow", "events_runevent", "events_purgecertificate", "events_retention", "django_migrations",
)  # fmt: skip
# Nobody deletes these.
KEPT = (
    "runs_run", "runs_call", "runs_startkey", "events_rollback", "sagas_saga", "sagas_undo", "tickets_ticket", "tickets_comment",
    "routines_routine",
)  # fmt: skip
COUNT = """
SELECT count(*) FILTER (WHERE has_table_privilege(%(role)s, c.oid, 'DELETE')),
        count(*) FILTER (WHERE NOT has_table_privilege(%(role)s, c.oid, 'DELETE')
            AND has_any_column_privilege(%(role)s, c.oid, 'INSERT')),
        count(*) FILTER (WHERE NOT has_any_column_privilege(%(role)s, c.oid, 'INSERT'))
    FROM pg_class c WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace
"""


# Insufficient privilege; object not in prerequisite state.
REFUSED = ("42501", "55000")


class NotSplit(LiyagentError):
    """The rights of who serves could not be given."""

    code = "database_roles.refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """What a role may do now: to how many tables it may do what, and how many days events are kept at the least."""

    role: str
    written: int
    added_to: int
    read: int
    least_days: int


def roles_sql(role: str) -> str:
    """Return the statement that gives `role` what serving needs; to be run by the owner. Raises `BadInput`."""
    # The statement stands between dollars.
    if not role or len(role.encode()) > LONGEST_NAME or not role.isprintable() or "$" in role:
        raise BadInput(
            f"{role[:80]!r} is no name of a role; it wants 1 to {LONGEST_NAME} bytes, and no $ in it"
        )
    return (
        sql.SQL(SQL.read_text())
        .format(
            name=sql.Literal(role),
            plain=sql.Identifier(role),
            read=sql.Literal(list(READ)),
            kept=sql.Literal(list(KEPT)),
        )
        .as_string(None)
    )


def split_roles(role: str, *, actor: str) -> Split:
    """Give `role` what serving needs and nothing more, and keep events as long as the settings say; audited, one commit.

    On the connection of the owner. Raises `BadInput`, and `NotSplit` where it may not, or where `role` owns the tables.
    """
    statement = roles_sql(role)
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        _give(cursor, statement)
        keep_for(settings.LIYAGENT.run_events_retention_days)
        cursor.execute(COUNT, {"role": role})
        written, added_to, read = cursor.fetchone()
        split = Split(
            role=role, written=written, added_to=added_to, read=read, least_days=least_days()
        )
        detail = {"role": role, "written": written, "added_to": added_to, "read": read}
        record("database.roles", actor=actor, detail=detail)
    return split


def _give(cursor: CursorWrapper, statement: str) -> None:
    try:
        cursor.execute(statement)
    except DatabaseError as error:
        told = getattr(error.__cause__, "diag", None)
        if told is None or told.sqlstate not in REFUSED:
            raise
        raise NotSplit(f"{told.message_primary}; docs/database-roles.md shows how") from None


def runtime_role() -> str:
    """Return the role that serves: that of `DATABASE_URL` where the owner has an address of its own."""
    conf = settings.LIYAGENT
    if not conf.owner_database_url:
        return RUNTIME_ROLE
    return str(conninfo_to_dict(conf.database_url).get("user") or RUNTIME_ROLE)


@contextmanager
def as_owner() -> Iterator[None]:
    """Let the database be reached by `LIYAGENT_OWNER_DATABASE_URL` inside, where it is set. For a process that does one thing."""
    conf: Conf = settings.LIYAGENT
    url = conf.owner_database_url
    if not url:
        yield
        return
    known = connections["default"].settings_dict
    before = dict(known)
    connections["default"].close()
    known.update(django_database(url))
    settings.LIYAGENT = dataclasses.replace(conf, database_url=url, direct_database_url=url)
    try:
        yield
    finally:
        connections["default"].close()
        known.update(before)
        settings.LIYAGENT = conf
