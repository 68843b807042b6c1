"""Which life of which process this is, and whether another one on this host is over (ruling 3a)."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A process's life: the same pid with another start time is another life."""

    boot_id: str
    pid_namespace: str
    pid: int
    started_ticks: int


def own_identity() -> Identity:
    """Return this process's identity."""
    pid = os.getpid()
    started = _started_ticks(pid)
    return Identity(
        boot_id=(PROC / "sys/kernel/random/boot_id").read_text().strip(),
        pid_namespace=os.readlink("/proc/self/ns/pid"),
        pid=pid,
        started_ticks=started if started is not None else 0,
    )


def own_name() -> str:
    """Return a name for people: host and pid. Nothing is decided by it."""
    return f"{socket.gethostname()}:{os.getpid()}"


def sees_all_processes() -> bool:
    """Say whether an absent /proc entry means an absent process: not where other users' are hidden (hidepid)."""
    return (PROC / "1").exists()


def is_over(pid: int, started_ticks: int) -> bool:
    """Say whether that life is proven over: the pid is gone, a zombie, or another process's.

    Only for identities of this boot and this pid namespace; containers share the boot id.
    """
    return _started_ticks(pid) != started_ticks


def _started_ticks(pid: int) -> int | None:
    """Start time in clock ticks since boot; None for a process that is gone or a zombie (proc(5))."""
    try:
        stat = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X", "x"} else int(fields[19])
