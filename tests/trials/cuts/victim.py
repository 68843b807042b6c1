"""Victims: each a process of its own that has all imports done, is a holder, and carries the one run it is told.

`within tests.trials.cuts.victim SOCKET` listens on a Unix socket and forks for each connection to it. The child answers
with its process id, waits for the id of a run, carries it as `manage.py carry` does, and ends. Told an act instead of an
id, it does one act after another as it is told (`acts.py`).
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import signal
import socket
import sys
from pathlib import Path
from uuid import UUID

from liyagent.core.database import cut_off_who_is_silent
from liyagent.core.logs import log_context
from liyagent.core.unpickling import refuse_unpickling
from liyagent.gateway import wire
from tests.trials.cuts.acts import Life

NOBODY = UUID(int=0)
BACKLOG = 64


def main(path: Path) -> None:
    """Fork for each that connects, until killed. The parent opens no connection and starts no thread."""
    refuse_unpickling()
    cut_off_who_is_silent()
    wire.warm_up()
    importlib.import_module("liyagent.asgi")
    # One that does not end is asked for its stacks; they come into the log.
    faulthandler.register(signal.SIGUSR1)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(BACKLOG)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            told, _ = listener.accept()
            _reap()
            if os.fork() == 0:
                listener.close()
                _be_a_victim(told)
            told.close()


def _be_a_victim(told: socket.socket) -> None:
    code = 1
    try:
        with told.makefile("rw") as words:
            carriage = Life(NOBODY)
            words.write(f"{os.getpid()}\n")
            words.flush()
            run = words.readline().strip()
            if run.startswith("{"):
                carriage.act(run, words)
            elif run:
                carriage.run_id = UUID(run)
                with log_context(run_id=run):
                    carriage.carry()
        code = 0
    finally:
        sys.stdout.flush()
        os._exit(code)


def _reap() -> None:
    """Forget the children that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
