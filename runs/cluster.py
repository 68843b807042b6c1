"""The django-q2 cluster, in processes that end together (house, section 10).

Left to itself its pieces live on: killed parents leave workers that nobody watches, and a killed idle worker
takes the lock of the queue with it, after which the cluster takes tasks and runs none.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import uuid
from types import FrameType
from typing import Any

from django.db import connections
from django_q.cluster import Sentinel

from liyagent.core.errors import BadSetting
from liyagent.core.parent import bind_forks, die_with_parent

logger = logging.getLogger(__name__)

STOP_SECONDS = 4
FORK = multiprocessing.get_context("fork")


class StrictSentinel(Sentinel):  # type: ignore[misc]  # django-q2 has no types
    """A sentinel that ends, and with it all it started, rather than go on with a queue whose lock is lost."""

    def reincarnate(self, process: Any) -> None:
        """Start a new one for a process that ended by itself or ran out of time; end where one was killed."""
        if process.exitcode is not None and process.exitcode < 0:
            logger.error(
                "process %s of the cluster was killed by signal %s: the cluster starts anew",
                process.pid,
                -process.exitcode,
            )
            os._exit(1)
        super().reincarnate(process)


class Cluster:
    """One sentinel with its pusher, monitor and workers."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self._asked_to_end = FORK.Event()

    def run(self) -> int:
        """Work until SIGTERM or SIGINT (0), or until the sentinel is gone (1). Call from the main thread."""
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        sentinel = FORK.Process(
            target=StrictSentinel,
            args=(self._asked_to_end, FORK.Event(), uuid.uuid4()),
            name="sentinel",
        )
        sentinel.start()
        sentinel.join()
        return 0 if self._asked_to_end.is_set() else 1

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """Finish what is being done. A job that takes too long is cut off by the alarm: the kernel ends us, we all."""
        if not self._asked_to_end.is_set():
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(STOP_SECONDS)
            self._asked_to_end.set()


def run_cluster(*, parent: int | None) -> int:
    """Run a cluster whose processes die with each other, and with `parent` if one is named; return the exit code.

    Raises `BadSetting` where a connection pool is set: forked processes would share its connections.
    """
    if connections["default"].settings_dict["OPTIONS"].get("pool"):
        raise BadSetting("django-q2's processes cannot share a connection pool; leave `pool` out")
    if parent is not None:
        die_with_parent(parent)
    bind_forks()
    connections.close_all()
    return Cluster().run()
