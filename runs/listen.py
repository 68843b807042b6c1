"""Hear from the database that a run was queued in another process (LISTEN); the runner's poll stands behind it."""

from __future__ import annotations

import logging
from threading import Event

import psycopg
from django.conf import settings

from liyagent.core.database import direct_connection, leads_to_its_server
from runs.hot import AWAY
from runs.wake import LISTENING, QUEUED

logger = logging.getLogger(__name__)

CHANNEL = "liyagent_queued"
# The process in which a run was queued is woken by itself, and takes it first: the others come for what is left.
# What is told meanwhile is one wake-up.
GRACE_SECONDS = 0.04
# How long the end of the process may go unnoticed here.
LOOK_SECONDS = 0.5


def listen_until(ended: Event) -> None:
    """Set `QUEUED` soon after each run queued anywhere; connect again while the database is away.

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
            LISTENING.clear()


def _listen(connection: psycopg.Connection, ended: Event) -> None:
    connection.execute(f"LISTEN {CHANNEL}")
    LISTENING.set()
    QUEUED.set()  # for what was queued while nobody listened
    while not ended.is_set():
        told = list(connection.notifies(timeout=LOOK_SECONDS, stop_after=1))
        if told:
            ended.wait(GRACE_SECONDS)
            QUEUED.set()
