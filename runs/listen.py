"""Hear from the database that a run was queued in another process, and tell it of those queued here (LISTEN, NOTIFY).

The runner's poll stands behind it: what is not told is found later.
"""

from __future__ import annotations

import logging
import select
from threading import Event

import psycopg
from django.conf import settings

from liyagent.core.database import direct_connection, leads_to_its_server
from runs.hot import AWAY
from runs.wake import BELL, CHANNEL, NOTIFY, QUEUED

logger = logging.getLogger(__name__)

# The process in which a run was queued is woken by itself, and takes it first: the others come for what is left.
# What is told meanwhile is one wake-up.
GRACE_SECONDS = 0.04
# How long the end of the process may go unnoticed here.
LOOK_SECONDS = 0.5


def listen_until(ended: Event) -> None:
    """Set `QUEUED` soon after each run queued elsewhere; connect again while the database is away.

    Behind a pooler nothing is heard, and nothing is waited for: the poll finds all.
    """
    while not ended.is_set():
        try:
            with direct_connection() as connection:
                is_direct = leads_to_its_server(connection)
                if is_direct:
                    _listen(connection, ended)
        except AWAY as error:
            logger.warning("not listened, the database is away: %s", error)
            ended.wait(settings.LIYAGENT.poll_seconds)
        else:
            if not is_direct:
                ended.wait()
        finally:
            BELL.is_heard.clear()


def _listen(connection: psycopg.Connection, ended: Event) -> None:
    connection.execute(f"LISTEN {CHANNEL}")
    BELL.is_heard.set()
    QUEUED.set()  # for what was queued while nobody listened
    poll = (
        select.poll()
    )  # select.select takes no file number above 1023, which a process with many streams has
    for heard in (connection, BELL):
        poll.register(heard, select.POLLIN)
    while not ended.is_set():
        readable = [number for number, _ in poll.poll(1000 * LOOK_SECONDS)]
        if BELL.fileno() in readable:
            BELL.clear()
            connection.execute(NOTIFY)
        if readable and _is_told_by_another(connection):
            ended.wait(GRACE_SECONDS)
            QUEUED.set()


def _is_told_by_another(connection: psycopg.Connection) -> bool:
    """Read what is there; what this session told comes back to it."""
    own = connection.info.backend_pid
    return bool({told.pid for told in connection.notifies(timeout=0)} - {own})
