"""`with-postgres`: a command with a database of its own, and nothing left afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

LAUNCHER = (sys.executable, "-m", "liyagent.launcher")
CONNECT = "import os, psycopg; print(psycopg.connect(os.environ['DATABASE_URL']).info.dbname)"
WAIT = "import sys, time; print('waiting', flush=True); time.sleep(60)"


@pytest.fixture
def env(place: Path) -> Iterator[dict[str, str]]:
    """An environment without a database, whose temporary files go to `place`."""
    kept = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    yield {**kept, "TMPDIR": str(place)}
    assert list(place.iterdir()) == []


def test_the_command_gets_a_database_and_nothing_is_left(env: dict[str, str]) -> None:
    told = subprocess.run(
        [*LAUNCHER, "with-postgres", "--", sys.executable, "-c", CONNECT],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "liyagent\n"


def test_the_commands_exit_code_is_passed_on(env: dict[str, str]) -> None:
    ended = subprocess.run(
        [*LAUNCHER, "with-postgres", "--", "sh", "-c", "exit 7"], env=env, check=False
    )
    assert ended.returncode == 7


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_command_and_the_cluster_goes(
    env: dict[str, str], sent: signal.Signals
) -> None:
    command = [*LAUNCHER, "with-postgres", "--", sys.executable, "-c", WAIT]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as wrapper:
        assert wrapper.stdout is not None
        assert wrapper.stdout.readline() == b"waiting\n"
        wrapper.send_signal(sent)
        wrapper.communicate(timeout=50)
    assert wrapper.returncode == 128 + sent
