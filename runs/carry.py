"""Carry one run in a process of its own (ruling 11): what ends its process then takes no neighbour along."""

from __future__ import annotations

import logging
import os
import resource
import signal
import threading
import time
from pathlib import Path
from types import FrameType
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from liyagent.core.database import close_hot_pool
from liyagent.gateway import wire
from liyagent.leases.holding import end_holder, start_draining
from liyagent.leases.identity import own_identity, own_name
from runs import hot
from runs.checkpoint import keyring
from runs.new_life import begin_life
from runs.renewal import Renewal
from runs.runner import FORMATS, Runner
from runs.threads import LastingThread

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.1
# Nobody passes a signal on to a process whose parent died. Where the database is gone for this long too, as with a
# set-up that was taken away, it ends by itself.
FORSAKEN_SECONDS = 600.0
OOM_SCORE = Path("/proc/self/oom_score_adj")
FIRST_TO_BE_KILLED = "1000"
MEBIBYTE = 1 << 20


class NotedRenewal(Renewal):
    """A renewal that remembers when it last succeeded."""

    renewed_at = 0.0

    def renew_once(self, connection: psycopg.Connection) -> None:
        """Renew, and note the time."""
        super().renew_once(connection)
        self.renewed_at = time.monotonic()


class Carriage:
    """A life of this process as a holder of its own, for one run."""

    def __init__(self, run_id: UUID, *, parent: int | None = None) -> None:
        """Register the holder; `parent` passes signals on. Raises the database's errors where it is away."""
        self.run_id = run_id
        self.identity = own_identity()
        self.parent = parent or os.getppid()
        self.runner = Runner(begin_life(self.identity), name=own_name())
        self.renewal = NotedRenewal(self.runner, register=lambda: begin_life(self.identity))
        self.renewal.renewed_at = time.monotonic()
        self.ended = threading.Event()

    def carry(self) -> bool:
        """Take the run and carry it until it ends, goes back to the queue, or is another's; whether it was to be had.

        Call from the main thread: SIGTERM drains, a second signal ends the process at once.
        """
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        renewing = LastingThread(
            "renewal",
            lambda: self.renewal.renew_until(self.ended),
            is_ending=self.ended.is_set,
            on_death=self.runner.draining.set,
        )
        renewing.start()
        try:
            if not self._take():
                return False
            while self.runner.carried() and not self._is_over():
                time.sleep(LOOK_SECONDS)
            return True
        finally:
            self._end()
            renewing.join(timeout=2)

    def _take(self) -> bool:
        """Take exactly this run; one whose answer was lost on the way is found by its holder (ruling 5)."""

        def unwanted() -> bool:
            return self.runner.draining.is_set() or self._is_forsaken()

        taken = hot.take_one(
            self.runner.holder,
            self.run_id,
            formats=FORMATS,
            key_ids=keyring().ids,
            give_up=unwanted,
        ) or hot.mine(self.runner.holder, give_up=unwanted)
        for run_id, attempt in taken:
            self.runner.carry_in_threads([(run_id, attempt)])
        return bool(taken)

    def _is_over(self) -> bool:
        """Whether to end although the run has not: told to, no longer its holder, or forsaken."""
        if self.runner.draining.is_set() or all(it.lost.is_set() for it in self.runner.carried()):
            return True
        return self._is_forsaken()

    def _is_forsaken(self) -> bool:
        """Whether neither the database nor the process that started this one is there any more."""
        is_silent = time.monotonic() - self.renewal.renewed_at > FORSAKEN_SECONDS
        return is_silent and os.getppid() != self.parent

    def _end(self) -> None:
        """Let the run reach a boundary if it is still ours, hand over the rest, and leave nothing behind."""
        is_told = self.runner.draining.is_set()
        try:
            if is_told and self.runner.carried():
                start_draining(self.runner.holder)
            self.runner.drain(seconds=settings.LIYAGENT.drain_seconds if is_told else 0)
            self.ended.set()
            end_holder(self.runner.holder)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("the database is away: %s; its neighbours will see that it ended", error)
        finally:
            self.ended.set()
            wire.close_all()
            connection.close()
            close_hot_pool()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self.runner.draining.is_set():
            os._exit(128 + number)
        self.runner.draining.set()


def die_alone(memory_mb: int) -> None:
    """Let this process be the first that the kernel kills for want of memory, and bound what it can ask for.

    `memory_mb` (0: no bound) is a limit of writable private memory, RLIMIT_DATA: it holds wherever Linux runs,
    while a cgroup wants rights that a process rarely has, and RLIMIT_AS counts what is only reserved (a
    gigabyte for a dozen threads that use eighty megabytes).
    """
    try:
        OOM_SCORE.write_text(FIRST_TO_BE_KILLED)
    except OSError as error:
        logger.warning("not the first to be killed for want of memory: %s", error)
    if memory_mb:
        limit = memory_mb * MEBIBYTE
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
