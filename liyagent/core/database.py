"""How the database is reached: Django's connections and the hot path's own pool."""

from __future__ import annotations

import logging
import os
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from psycopg import Connection, connect
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import Diagnostic
from psycopg_pool import ConnectionPool

from liyagent.core.hot_connection import HotConnection
from liyagent.core.metrics import DATABASE_WARNINGS

logger = logging.getLogger(__name__)

HOT_CONNECTIONS = 12
# Who asks waits this long for a connection, and then asks again. A pool that finds no database gives up sooner,
# to try anew for the next who asks: left to itself it waits twice as long each time, and finds a database that
# was away for a minute up to a minute late.
WAIT_SECONDS, RECONNECT_SECONDS = 2.0, 1.0
# A host that does not answer at all would be waited for two minutes.
CONNECT_SECONDS = 5
# A server that is gone without a word (its host died, a network drops all) is waited for ten seconds, and not for
# the two hours after which a system of its own accord asks whether it is still there.
SILENCE = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}

# A process that stalls between two statements of a transaction (its host is frozen, its network is gone) keeps the rows
# that it locked: a run's head would be nobody's to take over for as long. Nothing leaves inside of one, so none is silent.
MOST_SILENT_SECONDS = 5.0


def django_database(url: str) -> dict[str, Any]:
    """Return Django's DATABASES entry for a `postgresql://` URL; its query becomes connection options."""
    parts = urlsplit(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "OPTIONS": {
            "application_name": "liyagent",
            "connect_timeout": CONNECT_SECONDS,
            **SILENCE,
            **dict(parse_qsl(parts.query)),
        },
        # Each request has a thread of its own: a connection kept beyond it is used by nobody, and stays open.
        "CONN_MAX_AGE": 0,
        "DISABLE_SERVER_SIDE_CURSORS": True,
    }


def cut_off_who_is_silent() -> None:
    """Let the server end each of Django's transactions in this process whose next statement is `MOST_SILENT_SECONDS` late.

    Whoever goes on after that is told so by an `InternalError`: a database that is away, as far as it is concerned.
    By a statement: a pooler takes no option at its start. Behind one it is its own to set (`docs/operate/deploy.md`).
    """
    connection_created.connect(_set_patience, dispatch_uid="liyagent.silence")


def _set_patience(connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    with connection.cursor() as cursor:
        milliseconds = int(MOST_SILENT_SECONDS * 1000)
        cursor.execute(f"SET idle_in_transaction_session_timeout = {milliseconds}")


def direct_connection() -> Connection[tuple[Any, ...]]:
    """Return a new connection to the database itself, each statement of it a commit. Raises psycopg's errors."""
    url = settings.LIYAGENT.direct_database_url
    return connect(url, autocommit=True, **_unless_said(url, connect_timeout=CONNECT_SECONDS))


def _unless_said(url: str, **options: int) -> dict[str, Any]:
    """Return `options` and those of a silent server, but for what the URL itself says."""
    said = conninfo_to_dict(url)
    return {name: value for name, value in {**SILENCE, **options}.items() if name not in said}


_pools: dict[str, ConnectionPool[HotConnection]] = {}
_lock = Lock()


def hot_pool() -> ConnectionPool[HotConnection]:
    """Return the process's pool for the hot statements: autocommit, prepared where that lasts, opened on first use.

    Beside Django's connections because those are one a thread, and a run's thread holds none while it
    waits for a model or a tool. A fork must not use its parent's: the child of a fork opens its own.
    """
    url = settings.LIYAGENT.database_url
    pool = _pools.get(url)
    if pool is None:
        with _lock:
            pool = _pools.get(url)
            if pool is None:
                pool = _pools[url] = _open_pool(url)
    return pool


def _open_pool(url: str) -> ConnectionPool[HotConnection]:
    return ConnectionPool(
        url,
        connection_class=HotConnection,
        min_size=1,
        max_size=HOT_CONNECTIONS,
        timeout=WAIT_SECONDS,
        reconnect_timeout=RECONNECT_SECONDS,
        open=True,
        name="liyagent-hot",
        kwargs={
            "autocommit": True,
            "prepare_threshold": None,
            "application_name": "liyagent hot",
            **_unless_said(url),
        },
        configure=_set_up,
        check=None,
    )


def _set_up(connection: Connection[tuple[Any, ...]]) -> None:
    """Prepare statements at their first use, but not behind a pooler: there the next one may meet another backend.

    What a statement warns of, as of events that it had to drop (EV-07), belongs into this process's log.
    """
    connection.prepare_threshold = 0 if leads_to_its_server(connection) else None
    connection.add_notice_handler(_log_warning)


def _log_warning(told: Diagnostic) -> None:
    if told.severity_nonlocalized == "WARNING":
        DATABASE_WARNINGS.inc()
        logger.warning("the database warns: %s", told.message_primary)


def leads_to_its_server(connection: Connection[tuple[Any, ...]]) -> bool:
    """Whether the session is the server's own: a pooler tells a process id of its own making (ruling 3b)."""
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    return row is not None and row[0] == connection.info.backend_pid


def close_hot_pool() -> None:
    """Close all pools of this process; the next `hot_pool` opens anew."""
    with _lock:
        while _pools:
            _pools.popitem()[1].close()


os.register_at_fork(after_in_child=_pools.clear)
