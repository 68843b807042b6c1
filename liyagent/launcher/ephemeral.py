"""A PostgreSQL that lives as long as a command or a test session, and leaves nothing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from liyagent.launcher.children import die_with_parent
from liyagent.launcher.cluster import Cluster
from liyagent.launcher.users import server_user

DATABASE = "liyagent"


@contextmanager
def ephemeral_cluster(
    *, settings: Mapping[str, str] | None = None, below: Path | None = None
) -> Iterator[Cluster]:
    """Run a cluster with an empty database `liyagent` in a temporary directory, removed afterwards.

    It is made `below` that directory, by default where all temporary ones are.
    """
    place = Path(tempfile.mkdtemp(prefix="liyagent-postgres-", dir=below))
    try:
        user = server_user()
        os.chown(place, user.uid, user.gid)
        with Cluster(place / "data", settings=settings) as cluster:
            cluster.create_database(DATABASE)
            yield cluster
    finally:
        shutil.rmtree(place, ignore_errors=True)


def with_postgres(command: Sequence[str]) -> int:
    """Run `command` with DATABASE_URL of an ephemeral cluster; return its exit code, 128 + n for signal n.

    SIGTERM and SIGINT are passed on to it; the cluster goes after it ended.
    """
    # At a terminal Ctrl-C reaches the whole foreground group, and the command may want to read.
    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    child: subprocess.Popen[bytes] | None = None

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if child is None:
            sys.exit(128 + number)
        if not (at_terminal and number == signal.SIGINT):
            child.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with ephemeral_cluster() as cluster:
            child = subprocess.Popen(
                list(command),
                env={**os.environ, "DATABASE_URL": cluster.url(DATABASE)},
                process_group=None if at_terminal else 0,
                preexec_fn=die_with_parent(signal.SIGTERM),  # noqa: PLW1509 - one system call; nothing is locked
            )
            code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code
