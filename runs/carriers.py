"""The processes that each carry one run with two losses: started by `serve`, told to end with it (ruling 11)."""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from threading import Event, Lock
from uuid import UUID

import psycopg
from django.conf import settings

from liyagent.core.errors import LiyagentError
from runs import hot
from runs.checkpoint import keyring
from runs.errors import LostLease
from runs.runner import FORMATS

logger = logging.getLogger(__name__)

MOST_CARRIERS = 4
# More are looked at than can be carried, so that two processes rarely start one for the same run.
MOST_LOOKED_AT = 4 * MOST_CARRIERS
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 60.0
LOOK_SECONDS = 0.05


@dataclass(slots=True, kw_only=True)
class Pause:
    """A run whose carrier ended here is not carried here again before `until`, and later each time it is still queued."""

    seconds: float
    until: float


class Carriers:
    """At most four at once. They have sessions of their own and no parent-death signal: they outlive only a parent that died."""

    def __init__(self) -> None:
        """Nothing runs before the first look."""
        self._children: dict[UUID, subprocess.Popen[bytes]] = {}
        self._pauses: dict[UUID, Pause] = {}
        self._is_ending = False
        self._lock = Lock()

    def look_until(self, draining: Event) -> None:
        """Look at each poll whether a run with two losses is queued; a fault of the moment is left to the next look."""
        while not draining.is_set():
            try:
                self.look(draining)
            except LostLease:
                return
            except (psycopg.Error, LiyagentError):
                logger.exception("no look for runs to carry alone; the next goes on")
            draining.wait(settings.LIYAGENT.poll_seconds)

    def look(self, draining: Event) -> None:
        """Reap what has ended and start as many as there are places for."""
        self._reap()
        if len(self._children) >= MOST_CARRIERS:
            return
        due = hot.due_alone(
            formats=FORMATS,
            key_ids=keyring().ids,
            limit=MOST_LOOKED_AT,
            give_up=draining.is_set,
        )
        self._pauses = {run: pause for run, pause in self._pauses.items() if run in due}
        now = time.monotonic()
        wanted = [
            run
            for run in due
            if run not in self._children
            and (run not in self._pauses or self._pauses[run].until <= now)
        ]
        random.shuffle(wanted)
        wanted.sort(key=lambda run: not due[run])  # the stopped ones first: their end is waited for
        for run in wanted[: MOST_CARRIERS - len(self._children)]:
            self._start(run)

    def running(self) -> list[int]:
        """Return the process ids of those that run."""
        with self._lock:
            return [child.pid for child in self._children.values() if child.poll() is None]

    def ask_to_end(self) -> None:
        """Pass SIGTERM on; none is started any more."""
        with self._lock:
            self._is_ending = True
            for child in self._children.values():
                child.terminate()

    def end(self, *, seconds: float) -> None:
        """Ask them to end, wait, and kill what is left after `seconds`."""
        self.ask_to_end()
        give_up = time.monotonic() + seconds
        while self.running() and time.monotonic() < give_up:
            time.sleep(LOOK_SECONDS)
        for run, child in self._children.items():
            if child.poll() is None:
                logger.warning("the carrier of run %s did not end in %s s: killed", run, seconds)
                child.kill()
            child.wait()

    def _reap(self) -> None:
        with self._lock:
            over = {run: it for run, it in self._children.items() if it.poll() is not None}
            for run, child in over.items():
                del self._children[run]
                self._pause(run)
                if child.returncode:
                    logger.error(
                        "the process that carried run %s alone ended with %s", run, child.returncode
                    )

    def _start(self, run: UUID) -> None:
        """Start one; no memory or no process left may pass, and is no loss: the run stays queued."""
        manage = str(settings.BASE_DIR / "manage.py")
        with self._lock:
            if self._is_ending:
                return
            try:
                child = subprocess.Popen(  # noqa: S603 - our own program
                    [sys.executable, manage, "carry", str(run), "--parent", str(os.getpid())],
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                logger.error("no process to carry run %s alone: %s", run, error)
                self._pause(run)
                return
            self._children[run] = child
        logger.warning("run %s was lost twice: carried alone, by process %s", run, child.pid)

    def _pause(self, run: UUID) -> None:
        before = self._pauses.get(run)
        seconds = (
            FIRST_PAUSE_SECONDS
            if before is None
            else min(2 * before.seconds, LONGEST_PAUSE_SECONDS)
        )
        self._pauses[run] = Pause(seconds=seconds, until=time.monotonic() + seconds)
