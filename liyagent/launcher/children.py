"""Child processes that never outlive us: own process group, own log, and a signal when we die."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from liyagent.launcher.users import ServerUser

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent(sent: signal.Signals) -> Callable[[], None]:
    """Return what a fresh child calls so that the kernel sends it `sent` when its parent's thread ends."""
    parent = os.getpid()

    def ask_the_kernel() -> None:
        LIBC.prctl(PR_SET_PDEATHSIG, int(sent))
        if os.getppid() != parent:  # it died before we asked
            os.kill(os.getpid(), sent)

    return ask_the_kernel


def start_child(
    command: Sequence[str | Path],
    *,
    log: Path | None,
    env: Mapping[str, str],
    when_we_die: signal.Signals = signal.SIGTERM,
    user: ServerUser | None = None,
    cwd: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start `command` in a process group of its own, its output appended to `log` (else thrown away).

    The child gets `when_we_die` if the calling thread ends, so call it from the main thread.
    """
    drop = (
        {"user": user.uid, "group": user.gid, "extra_groups": []} if user and user.is_other else {}
    )
    output = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(env),
            cwd=cwd or "/",
            start_new_session=True,
            preexec_fn=die_with_parent(when_we_die),  # noqa: PLW1509 - one system call; nothing is locked
            **drop,
        )
    finally:
        os.close(output)


def signal_group(child: subprocess.Popen[bytes], sent: signal.Signals) -> None:
    """Send `sent` to the child's process group; a group that is gone already is fine."""
    try:
        os.killpg(child.pid, sent)
    except ProcessLookupError:
        return
