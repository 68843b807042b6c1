"""Processes that never outlive the one that started them: the kernel's parent-death signal (Linux)."""

from __future__ import annotations

import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process with SIGKILL when the thread of `parent` that started it ends.

    Where `parent` is gone already this process ends here. Raises OSError if the kernel refuses.
    """
    if LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL)) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) was refused")
    if os.getppid() != parent:  # it died before the kernel was asked, and will send nothing
        os.kill(os.getpid(), signal.SIGKILL)


def bind_forks() -> None:
    """From now on every fork of this process, and every fork of those, dies with the one that forked it."""
    forker = os.getpid()

    def bind() -> None:
        nonlocal forker
        parent, forker = forker, os.getpid()
        die_with_parent(parent)

    os.register_at_fork(after_in_child=bind)
