"""A nudge: a run was queued, here or in another process, so the runner need not wait for its next poll."""

from __future__ import annotations

import logging
import os
from threading import Event

from django.db import DatabaseError, InterfaceError, connection

logger = logging.getLogger(__name__)

CHANNEL = "liyagent_queued"
NOTIFY = f"NOTIFY {CHANNEL}"

QUEUED = Event()


class Bell:
    """Rung in any thread, heard by the one that listens: it tells the other processes, many rings at once."""

    def __init__(self) -> None:
        """Nobody listens yet."""
        self._heard, self._rung = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.is_heard = Event()

    def fileno(self) -> int:
        """What becomes readable once it was rung."""
        return self._heard

    def ring(self) -> bool:
        """Ring; whether somebody hears it."""
        if not self.is_heard.is_set():
            return False
        try:
            os.write(self._rung, b".")
        except BlockingIOError:
            logger.debug("rung more often than the pipe holds; one ring is enough")
        return True

    def clear(self) -> None:
        """Forget the rings so far."""
        try:
            os.read(self._heard, 65_536)
        except BlockingIOError:
            return


BELL = Bell()


def tell_queued() -> None:
    """Wake this process's runner and those of the others: a run was queued, and committed.

    After the commit, not in it: commits that notify wait for one another. Never raises; the poll finds what
    is not told.
    """
    QUEUED.set()
    if BELL.ring():
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute(NOTIFY)
    except (DatabaseError, InterfaceError) as error:
        logger.warning("not told that a run is queued, the database is away: %s", error)
