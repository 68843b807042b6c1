"""Run as a program between us and a server's command: `stdio_guard.py OUR_PID PROGRAM ARGUMENT...`.

The kernel tells it of our death; then, and when the command itself ends, it kills the whole process group, so
that nothing that the command started outlives us or holds its pipes open. It is a program of its own because
code between fork and exec is not safe in a process of many threads.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

# Started without site packages and by its path, so that no more than the standard library is loaded.
sys.path.insert(0, str(Path(__file__).parents[2]))

from liyagent.core.parent import LIBC, PR_SET_PDEATHSIG, die_with_parent

NOT_STARTED = 127


def main() -> NoReturn:
    """Start the command in our process group, wait for it, and end the group."""
    parent, program = int(sys.argv[1]), sys.argv[2:]
    signal.signal(signal.SIGTERM, lambda *_: end_group())
    LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))
    if os.getppid() != parent:
        end_group()
    guard = os.getpid()
    child = os.fork()
    if child == 0:
        become(program, guard)
    nothing = os.open(os.devnull, os.O_RDWR)
    # The pipes are the command's alone: its end is theirs.
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    try:
        _, status = os.waitpid(child, 0)
        tell(f"ended with {os.waitstatus_to_exitcode(status)}")
    finally:
        end_group()


def become(program: list[str], guard: int) -> NoReturn:
    """Be the command, with the signals that a program expects."""
    try:
        for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        die_with_parent(guard)
        os.execv(program[0], program)  # noqa: S606 - a registered command, without a shell
    except OSError as error:
        tell(f"cannot be started: {error.strerror}")
    finally:
        os._exit(NOT_STARTED)


def tell(text: str) -> None:
    """Say a line on standard error, to whoever still listens."""
    try:
        os.write(2, f"{text}\n".encode())
    except OSError:
        return


def end_group() -> NoReturn:
    """Kill the process group, this program with it."""
    os.killpg(0, signal.SIGKILL)
    os._exit(NOT_STARTED)


if __name__ == "__main__":
    main()
