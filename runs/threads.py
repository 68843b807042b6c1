"""Threads that a process cannot do without."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

logger = logging.getLogger(__name__)


class LastingThread(threading.Thread):
    """A daemon whose end, before the process is ending, ends the process.

    Without its renewal or its watch a process looks alive and does half of its work: its neighbours take over
    what it holds only once it is gone.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], None],
        *,
        is_ending: Callable[[], bool],
        on_death: Callable[[], None],
    ) -> None:
        """`on_death` is called in this thread, once `work` has returned or raised while not `is_ending`."""
        super().__init__(name=name, daemon=True)
        self._work = work
        self._is_ending = is_ending
        self._on_death = on_death

    def run(self) -> None:
        """Do the work. What it raises goes on to the interpreter's hook, which prints it."""
        try:
            self._work()
        finally:
            if not self._is_ending():
                logger.critical("thread %s is dead: the process ends", self.name)
                self._on_death()
