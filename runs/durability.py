"""Refuse a database that may forget what it has confirmed (ruling 40)."""

from __future__ import annotations

import logging

from django.db import connection

from liyagent.core.errors import BadSetting

logger = logging.getLogger(__name__)

OLDEST_SERVER = 150_000
NEEDED_ON = ("fsync", "full_page_writes")


def check_durability(*, allow_unsafe: bool) -> None:
    """Raise `BadSetting` where the server is too old, or fsync, full_page_writes or synchronous_commit is off.

    `allow_unsafe` (LIYAGENT_ALLOW_UNSAFE_DURABILITY, for development) logs it instead. A server that does not tell its
    timeline is taken, and told of: what a failover lost of the last step would not be noticed.
    """
    _look_at_timeline()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('server_version_num')::int, current_setting('fsync'),"
            " current_setting('full_page_writes'), current_setting('synchronous_commit')"
        )
        version, fsync, pages, commit = cursor.fetchone()
    if version < OLDEST_SERVER:
        raise BadSetting(f"PostgreSQL {version // 10_000} is too old; Liyagent wants 15 or newer")
    unsafe = [name for name, value in zip(NEEDED_ON, (fsync, pages), strict=True) if value == "off"]
    if commit == "off":
        unsafe.append("synchronous_commit")
    if not unsafe:
        return
    said = f"{', '.join(unsafe)} off: a confirmed write could be forgotten, and done twice"
    if not allow_unsafe:
        raise BadSetting(
            f"{said}. Turn it on, or for development set LIYAGENT_ALLOW_UNSAFE_DURABILITY=true"
        )
    logger.warning("%s; allowed by LIYAGENT_ALLOW_UNSAFE_DURABILITY", said)


def _look_at_timeline() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT liyagent_timeline()")
        (timeline,) = cursor.fetchone()
    if not timeline:
        logger.warning(
            "the server does not tell its timeline (pg_walfile_name, pg_current_wal_lsn): after a failover to an"
            " asynchronous standby a write whose mark it had not received may be sent again"
        )
