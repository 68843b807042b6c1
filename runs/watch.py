"""Watch for death: proof by the process table, hints by life-locks, lapse by the leader's sweep (rulings 3, 4, 12)."""

from __future__ import annotations

import logging
import time
from threading import Event
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import InterfaceError, InternalError, OperationalError, connection

from liyagent.approvals.decide import expire_due
from liyagent.approvals.notice import remind_due
from liyagent.approvals.outbox import forget_old
from liyagent.core.database import direct_connection
from liyagent.leases.holding import neighbours, prune_holders
from liyagent.leases.identity import Identity, is_over, sees_all_processes
from liyagent.leases.lease import take_lease
from runs.hand_off import hand_off_due
from runs.hint import Hints
from runs.hot import AWAY
from runs.jobs import ring_sweep
from runs.recovery import claimed
from runs.runner import Runner
from runs.sleepers import Sleepers
from runs.sweep import MOST_CLAIMS, sweep_lapsed
from runs.wake import QUEUED

logger = logging.getLogger(__name__)

LEADER = "leader"
LOOK_AGAIN_SECONDS = 1.0
PRUNE_AFTER_SECONDS = 86_400
CLAIM_PROVEN = "SELECT * FROM liyagent_claim_proven(%s, %s)"
FORGET = """
DELETE FROM leases_holder h
    WHERE id = %s AND NOT EXISTS (SELECT 1 FROM runs_run r WHERE r.holder = h.id AND r.status = 'running')
"""
PAUSE = "SELECT * FROM liyagent_pause_unreadable()"


class Watch:
    """One thread of a process. Its sweeps run on one connection, whose age is part of the grace (ruling 3)."""

    def __init__(self, runner: Runner, *, identity: Identity) -> None:
        """`identity` is this process's own; only holders of its boot and pid namespace can be proven dead."""
        self.runner = runner
        self.identity = identity
        self._neighbours: list[tuple[UUID, int, int]] = []
        self._looked_at = 0.0
        self._swept_at = 0.0
        self._hints = Hints()
        self._sleepers = Sleepers()
        self._connection: psycopg.Connection | None = None

    def watch_until(self, ended: Event) -> None:
        """Look several times a second, sweep as the leader every few; never stop for a fault of the moment."""
        while not ended.is_set():
            try:
                self.look_once()
            except (*AWAY, OperationalError, InterfaceError, InternalError) as error:
                logger.warning("not watched, the database is away: %s", error)
                self._disconnect()
            except Exception:
                logger.exception("a look went wrong; the next goes on")
            ended.wait(settings.LIYAGENT.watch_seconds)
        self._disconnect()

    def look_once(self) -> None:
        """Claim from proven dead neighbours and from silent holders; sweep when it is time."""
        now = time.monotonic()
        if now - self._looked_at >= LOOK_AGAIN_SECONDS:
            # Each look uses the sweep's connection: one that broke is found, and ages, before it is needed.
            self._neighbours = neighbours(
                self._sql(), identity=self.identity, but=self.runner.holder
            )
            self._looked_at = now
        provable = self._neighbours if sees_all_processes() else []
        for holder, pid, started_ticks in provable:
            if is_over(pid, started_ticks):
                self._claim_from(holder)
        if self._hints.claim_silent(self._sql(), watcher=self.runner.holder):
            QUEUED.set()
        if now - self._swept_at >= settings.LIYAGENT.sweep_seconds:
            self._swept_at = now
            self.tick()

    def tick(self) -> None:
        """The leader's tick; another process leads once the leader was silent for two periods."""
        period = settings.LIYAGENT.sweep_seconds
        if take_lease(LEADER, holder=self.runner.holder, seconds=2 * period) is None:
            return
        self.sweep()
        for run, status, key_id in self._sql().execute(PAUSE).fetchall():
            logger.error("run %s is %s: sealing key %s", run, status, key_id)
        expire_due()
        if self._sleepers.wake(self._sql()):
            QUEUED.set()
        remind_due()
        forget_old()
        hand_off_due()
        prune_holders(older_than_seconds=PRUNE_AFTER_SECONDS)
        ring_sweep(self.runner.holder)

    def sweep(self) -> list[UUID]:
        """Claim what lapsed, each loss once."""
        runs = sweep_lapsed(self._sql(), sweeper=self.runner.holder)
        if runs:
            QUEUED.set()
        return runs

    def _claim_from(self, holder: UUID) -> None:
        rows = self._sql().execute(CLAIM_PROVEN, (holder, MOST_CLAIMS)).fetchall()
        if rows:
            logger.warning("claimed %d runs: their process is dead", len(rows))
            claimed([row[0] for row in rows], cause="proof")
            QUEUED.set()
        # A head that was locked just now is claimed at the next look: until then the holder is remembered.
        if self._sql().execute(FORGET, (holder,)).rowcount:
            self._neighbours = [it for it in self._neighbours if it[0] != holder]

    def _sql(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = direct_connection()
        return self._connection

    def _disconnect(self) -> None:
        connection.close()
        self._hints.forget()
        if self._connection is not None:
            self._connection.close()
        self._connection = None
