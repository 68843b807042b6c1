"""`python -m tests.unit.entry.teams.sender`: for each line of standard input, a process of its own that hands on by Teams.

It prints the process id; the process hands on what is due again and again until it is killed, or this program ends. Forked from
a program that has all modules and no connection, so that a death costs milliseconds.
"""

from __future__ import annotations

import os
import signal
import sys
import time

import django

from liyagent.launcher.children import die_with_parent

LOOK_SECONDS = 0.002


def main() -> None:
    """Make senders until standard input ends."""
    django.setup()
    from liyagent.entry.deliver import deliver_due  # noqa: PLC0415 - models want the settings first

    # Whoever dies is reaped by the system.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    be_tied = die_with_parent(signal.SIGKILL)
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            be_tied()
            while True:
                deliver_due(lambda: False, way="teams")
                time.sleep(LOOK_SECONDS)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
