"""The postmaster that a killed supervisor left on a data directory: waited for, told to end, or found to be dead."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from liyagent.launcher.errors import StartFailed
from liyagent.launcher.processes import PROC, command_of, directory_of, started_ticks

LOCK_FILE = "postmaster.pid"
# The kernel told it to end when its supervisor died; it is told once more where it has not heard.
PATIENCE_SECONDS = 2.0
STOP_SECONDS = 30.0
LOOK_SECONDS = 0.05


def settle_predecessor(data_dir: Path) -> None:
    """Return once no postmaster is in the way of a new one on `data_dir`, whose lock the caller holds.

    One that serves this very directory is ended; a lock file that names a zombie, or a process that is no
    postmaster of this directory, is removed (the server itself takes both for alive, and looks for the memory of
    left backends by itself). One that may not be looked at is left to the server's own judgement. Raises
    `StartFailed` naming the process that does not end.
    """
    began = time.monotonic()
    is_told = False
    while (pid := _named(data_dir)) is not None and (started := started_ticks(pid)) is not None:
        place = directory_of(pid)
        if place is None and started_ticks(pid) == started:
            return
        if place is not None and place != data_dir:
            break
        waited = time.monotonic() - began
        if waited > STOP_SECONDS:
            raise StartFailed(
                f"process {pid} ({command_of(pid)}) still serves {data_dir}; "
                f"end it with `kill -INT {pid}` and start again"
            )
        if waited > PATIENCE_SECONDS and not is_told:
            is_told = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT)
        time.sleep(LOOK_SECONDS)
    if pid is not None and (PROC / str(pid)).exists():
        (data_dir / LOCK_FILE).unlink(missing_ok=True)


def _named(data_dir: Path) -> int | None:
    """Return the process that the lock file names; None without one."""
    try:
        first = (data_dir / LOCK_FILE).read_text().partition("\n")[0]
    except FileNotFoundError:
        return None
    return int(first) if first.strip().lstrip("-").isdecimal() and int(first) > 0 else None
