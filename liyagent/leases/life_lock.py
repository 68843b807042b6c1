"""The life-lock: a session advisory lock that a living holder keeps, so that its end shows across hosts (ruling 3b)."""

from __future__ import annotations

import secrets
from uuid import UUID

import psycopg

from liyagent.core.database import leads_to_its_server

LOCK = "SELECT pg_try_advisory_lock(%s)"
SAY = "UPDATE leases_holder SET life_lock = %s, backend_pid = %s WHERE id = %s"


def keep_life_lock(connection: psycopg.Connection, *, holder: UUID) -> int | None:
    """Take a lock of this session alone, say so on the holder's row, and return its key; None where there is none.

    The key is a new one each time: an earlier session that the server has not yet missed keeps its own. None
    behind a pooler, whose sessions end and live without us, and where another session has that very key by chance:
    then the row says that there is none, and the holder is left to lapse. Raises psycopg's errors.
    """
    key: int | None = secrets.randbits(63)
    if not leads_to_its_server(connection) or not _is_taken(connection, key):
        key = None
    backend = connection.info.backend_pid if key is not None else None
    connection.execute(SAY, (key, backend, holder))
    return key


def _is_taken(connection: psycopg.Connection, key: int | None) -> bool:
    row = connection.execute(LOCK, (key,)).fetchone()
    return row is not None and bool(row[0])
