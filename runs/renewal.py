"""Renew everything this process holds by one statement, and compare what it holds with its threads (ruling 2)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Event
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from liyagent.core.database import direct_connection
from liyagent.core.metrics import LIVES_LOST, RENEWALS_FAILED, RENEWALS_LATE
from liyagent.leases.life_lock import keep_life_lock
from runs import hot
from runs.recovery import claimed
from runs.runner import Runner

logger = logging.getLogger(__name__)

RENEW = "SELECT * FROM liyagent_renew(%s, %s, %s, %s)"
RENEWALS_PER_LEASE = 4


class Renewal:
    """Renews on a connection of its own, so that no queue of other work can hold it up.

    That connection keeps the holder's life-lock (ruling 3b): it ends with the process, and is made again with a new
    lock where the database ended it.
    """

    def __init__(self, runner: Runner, *, register: Callable[[], UUID]) -> None:
        """`register` makes a new holder, for when the database no longer knows this one."""
        self.runner = runner
        self.register = register
        self._threadless: dict[tuple[UUID, int], int] = {}
        self._locked_for: UUID | None = None
        self._renewed_at = time.monotonic()

    def renew_until(self, ended: Event) -> None:
        """Renew four times a lease; a database that is away is tried again at the next beat.

        A connection that was cut is made anew at once: its life-lock went with it.
        """
        pause = settings.LIYAGENT.lease_seconds / RENEWALS_PER_LEASE
        connection: psycopg.Connection | None = None
        while not ended.is_set():
            is_kept = connection is not None
            try:
                if connection is None or connection.closed:
                    self._locked_for = None
                    connection = direct_connection()
                self.renew_once(connection)
            except (psycopg.Error, DatabaseError, InterfaceError) as error:
                # Whatever it answered: without its renewal a process loses all that it carries.
                logger.warning("not renewed, the database is away: %s", error)
                RENEWALS_FAILED.inc()
                if connection is not None:
                    connection.close()
                connection = None
                if is_kept:
                    continue
            ended.wait(pause)
        if connection is not None:
            connection.close()

    def renew_once(self, connection: psycopg.Connection) -> None:
        """One renewal: what it is told is lost stops; a running row without a thread twice is given back."""
        carried = self.runner.carried()
        rows = connection.execute(
            RENEW,
            (
                self.runner.holder,
                settings.LIYAGENT.lease_seconds,
                [it.run_id for it in carried],
                [it.attempt for it in carried],
            ),
        ).fetchall()
        if not rows:
            self._start_new_life()
            return
        self._time()
        _config, lost, orphans, orphan_attempts, _stops = rows[0]
        for it in carried:
            if it.run_id in (lost or ()):
                it.lost.set()
        orphaned = list(zip(orphans or (), orphan_attempts or (), strict=True))
        self._check_threads(connection, orphaned)
        self._keep_life_lock(connection)

    def _time(self) -> None:
        """Count a renewal that comes more than half a lease after the one before."""
        now, before = time.monotonic(), self._renewed_at
        RENEWALS_LATE.inc(now - before > settings.LIYAGENT.lease_seconds / 2)
        self._renewed_at = now

    def _keep_life_lock(self, connection: psycopg.Connection) -> None:
        """Once a connection and a life of the process; after the renewal, which must not wait for it."""
        if self._locked_for != self.runner.holder:
            keep_life_lock(connection, holder=self.runner.holder)
            self._locked_for = self.runner.holder

    def _start_new_life(self) -> None:
        logger.error(
            "the database no longer knows this holder: its runs are lost, it starts a new life"
        )
        LIVES_LOST.inc()
        self.runner.lose_all()
        self.runner.holder = self.register()

    def _check_threads(
        self, connection: psycopg.Connection, orphans: list[tuple[UUID, int]]
    ) -> None:
        """A row taken just now may not have its thread yet; one that has none twice never will."""
        self._threadless = {it: self._threadless.get(it, 0) + 1 for it in orphans}
        gone = [it for it, times in self._threadless.items() if times >= 2]
        if gone:
            logger.error("%d running rows have no thread here: given back as lost", len(gone))
            ids, attempts = [run for run, _ in gone], [attempt for _, attempt in gone]
            rows = connection.execute(hot.CLAIM, (ids, attempts, "thread")).fetchall()
            claimed([row[0] for row in rows], cause="thread")
