"""The cluster as a child of `serve`: started, started again when it dies, ended at the drain."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time

from django.conf import settings

from runs.jobs import SERVED_BY

logger = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 60.0
STEADY_SECONDS = 60.0


class ClusterChild:
    """Its process group is its own. Use from the main thread: the child dies with the thread that started it."""

    def __init__(self) -> None:
        """Nothing runs before the first look."""
        self._child: subprocess.Popen[bytes] | None = None
        self._is_ending = False
        self._started_at = 0.0
        self._start_at = 0.0
        self._pause = FIRST_PAUSE_SECONDS

    def look(self) -> None:
        """Start the cluster if none runs and the pause after its last death is over. Takes milliseconds."""
        if self._is_ending:
            return
        if self._child is not None and (code := self._child.poll()) is not None:
            self._child = None
            self._wait_after_death(code)
        if self._child is None and time.monotonic() >= self._start_at:
            self._start()

    def ask_to_end(self) -> None:
        """Let it finish its jobs; it is started no more."""
        self._is_ending = True
        if self._child is not None and self._child.poll() is None:
            self._child.terminate()

    def end(self, *, seconds: float) -> None:
        """Ask it to end, wait, and kill what is left of it after `seconds`."""
        self.ask_to_end()
        if self._child is None:
            return
        try:
            self._child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            logger.warning("the cluster did not end in %s s: killed", seconds)
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()

    def _start(self) -> None:
        self._started_at = time.monotonic()
        parent = str(os.getpid())
        manage = str(settings.BASE_DIR / "manage.py")
        try:
            self._child = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, manage, "cluster", "--parent", parent],
                stdin=subprocess.DEVNULL,
                env={**os.environ, SERVED_BY: parent},
                process_group=0,
            )
        except (
            OSError
        ) as error:  # no memory or no process left: it may pass, and the web server goes on
            self._wait_after_death(error)
        else:
            logger.info("the cluster runs as process %s", self._child.pid)

    def _wait_after_death(self, code: int | OSError) -> None:
        now = time.monotonic()
        if now - self._started_at >= STEADY_SECONDS:
            self._pause = FIRST_PAUSE_SECONDS
        self._start_at = now + self._pause
        logger.error("the cluster ended with %s, started again in %s s", code, self._pause)
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)
