"""Where the tests' PostgreSQL lies: in memory where there is room, as each test makes and drops hundreds of files.

No test asks whether data outlive the machine: what is killed in tests is a process, and files in memory outlive that.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

SHARED = Path("/dev/shm")  # noqa: S108 - only a place; what is made there has a name of its own
# The log between two checkpoints, what is kept of it, and the databases of a dozen workers.
ROOM = 4 << 30


def place_in_memory() -> Path | None:
    """Return a directory in memory with room for a session's PostgreSQL, or None: then it lies on disk."""
    try:
        free = shutil.disk_usage(SHARED).free
    except OSError:
        return None
    enough = min(free, psutil.virtual_memory().available) >= ROOM
    return SHARED if enough and os.access(SHARED, os.W_OK | os.X_OK) else None


def remove_orphans(place: Path) -> None:
    """Remove the clusters of sessions that were killed: their locks are free. Memory is too dear to keep them."""
    for lock in _locks(place):
        try:
            handle = os.open(lock, os.O_RDWR)
        except OSError:
            continue  # not ours, or just gone
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)
        except BlockingIOError:
            continue  # in use
        finally:
            os.close(handle)


def _locks(place: Path) -> Iterator[Path]:
    """Another session may be removing one of them."""
    for of_session in place.glob("liyagent-*"):
        with suppress(OSError):
            yield from list(of_session.glob("*.lock"))
