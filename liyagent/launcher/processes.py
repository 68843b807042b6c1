"""Processes as /proc shows them: whether one is alive, who it is, and who listens on a port (Linux)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
DEAD = frozenset("ZXx")
LISTENING = "0A"
LONGEST_COMMAND = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """One life of a process: its number with another start time, or after another boot, is another's."""

    pid: int
    started_ticks: int
    boot_id: str

    @property
    def is_over(self) -> bool:
        """Whether it is gone or a zombie."""
        return self.boot_id != boot_id() or started_ticks(self.pid) != self.started_ticks


def life_of(pid: int) -> Life | None:
    """Return the life of the process that has this number now; None where there is none, or a zombie."""
    started = started_ticks(pid)
    return None if started is None else Life(pid=pid, started_ticks=started, boot_id=boot_id())


def started_ticks(pid: int) -> int | None:
    """Return when the process started, in clock ticks since boot; None for one that is gone or a zombie."""
    try:
        stat = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in DEAD else int(fields[19])


def boot_id() -> str:
    """Return what tells this boot of the machine from every other."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def directory_of(pid: int) -> Path | None:
    """Return a process's working directory; None where it is gone or may not be looked at."""
    try:
        return Path(os.readlink(PROC / str(pid) / "cwd"))
    except OSError:
        return None


def command_of(pid: int) -> str:
    """Return a process's command line for people, cut to 80 characters; empty where it may not be looked at."""
    try:
        words = (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return ""
    return words.decode(errors="replace").strip()[:LONGEST_COMMAND]


def listener_on(port: int) -> int | None:
    """Return the process that listens on a TCP port of this machine; None where that cannot be seen."""
    sockets = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    if not sockets:
        return None
    for entry in PROC.iterdir():
        if entry.name.isdecimal() and _has_one_of(entry / "fd", sockets):
            return int(entry.name)
    return None


def _listening_inodes(port: int) -> set[str]:
    found = set()
    for table in ("net/tcp", "net/tcp6"):
        try:
            lines = (PROC / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(fields[9])
    return found


def _has_one_of(directory: Path, sockets: set[str]) -> bool:
    try:
        return any(os.readlink(handle) in sockets for handle in directory.iterdir())
    except OSError:  # it ended meanwhile, or is another user's
        return False
