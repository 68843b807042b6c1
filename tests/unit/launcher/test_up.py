"""`up`, with a stand-in for the command line: what is started, revived, refused and left behind."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest

from liyagent.launcher.cluster import free_port

REPOSITORY = Path(__file__).resolve().parents[3]
# Several processes start in each test; a busy machine takes its time.
pytestmark = pytest.mark.timeout(180)
UP = """
import sys
from pathlib import Path
from liyagent.launcher import __main__
__main__.BASE_DIR = Path(sys.argv[1])
sys.exit(__main__.main(["up", *sys.argv[2:]]))
"""


class Running:
    """An `up` that was started, and what it has said."""

    def __init__(self, home: Path, ports: list[int], vendors_port: int) -> None:
        """Start it in `home`, which holds the stand-in and will hold the state."""
        self.home = home
        self.ports = ports
        command = [sys.executable, "-c", UP, str(home), "--vendors-port", str(vendors_port)]
        command += [part for port in ports for part in ("--port", str(port))]
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith("LIYAGENT_")
        }
        kept.pop("DATABASE_URL", None)
        env = {
            **kept,
            "PYTHONPATH": os.pathsep.join((str(REPOSITORY), os.environ.get("PYTHONPATH", ""))),
            "LIYAGENT_STATE_DIR": str(home / "state"),
        }
        self.output = home / f"output-{ports[0]}"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                command, env=env, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            )

    def said(self) -> str:
        """Return all it has written."""
        return self.output.read_text()

    def until(self, is_true: Callable[[], bool], seconds: float = 60) -> None:
        """Wait until something is true of it."""
        give_up = time.monotonic() + seconds
        while not is_true():
            assert time.monotonic() < give_up, self.said()
            time.sleep(0.02)

    def until_said(self, text: str) -> None:
        """Wait until it has said `text`."""
        self.until(lambda: text in self.said() or self.process.poll() is not None)
        assert text in self.said(), self.said()

    def child(self, part: str) -> psutil.Process:
        """Return the child whose command line has `part`."""
        (found,) = [
            child
            for child in psutil.Process(self.process.pid).children()
            if any(part in word for word in child.cmdline())
        ]
        return found

    def end(self) -> int:
        """Send SIGTERM, unless it has ended, and return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@contextmanager
def started(home: Path, *ports: int) -> Iterator[Running]:
    """Run `up` on `ports`; ended afterwards."""
    up = Running(home, list(ports), free_port())
    try:
        yield up
    finally:
        up.end()


@pytest.fixture
def home(place: Path) -> Path:
    """A directory with the stand-in for the command line."""
    shutil.copy(Path(__file__).with_name("project.py"), place / "manage.py")
    return place


def answers(port: int) -> bool:
    """Whether something on `port` says it is ready."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def test_up_starts_all_keeps_its_files_private_and_leaves_nothing(home: Path) -> None:
    with started(home, free_port(), free_port()) as up:
        up.until_said("stop  ")
        assert all(answers(port) for port in up.ports)
        state = home / "state"
        url = (state / "database-url").read_text()
        with psycopg.connect(url) as connection:
            assert connection.info.dbname == "liyagent"
        password = (state / "admin-password").read_text()
        asked = (home / "asked").read_text().splitlines()
        assert asked[:2] == [f"migrate {url} {password}", f"seed {url} {password}"]
        assert f"login admin, password {password}" in up.said()
        for name in ("database-url", "admin-password"):
            assert (state / name).stat().st_mode & 0o777 == 0o600
        assert state.stat().st_mode & 0o007 == 0
        family = psutil.Process(up.process.pid).children(recursive=True)
        assert up.end() == 0
        psutil.wait_procs(family, timeout=5)
        assert not [
            child
            for child in family
            if child.is_running() and child.status() != psutil.STATUS_ZOMBIE
        ]
        assert sorted(path.name for path in state.iterdir()) == [
            "admin-password",
            "log",
            "postgres",
            "vendors",
        ]


def test_a_later_up_goes_on_with_the_data_and_the_password(home: Path) -> None:
    port = free_port()
    seen = []
    for _ in range(2):
        with started(home, port) as up:
            up.until_said("stop  ")
            url = (home / "state" / "database-url").read_text()
            with psycopg.connect(url) as connection:
                connection.execute("create table if not exists kept (n int)")
                connection.execute("insert into kept values (1)")
                seen.append(connection.execute("select count(*) from kept").fetchone())
            password = (home / "state" / "admin-password").read_text()
            assert up.end() == 0
    assert seen == [(1,), (2,)]
    assert (home / "state" / "admin-password").read_text() == password


def test_what_dies_is_started_again(home: Path) -> None:
    with started(home, free_port(), free_port()) as up:
        up.until_said("stop  ")
        up.child("postgres").kill()
        up.until_said("PostgreSQL is back")
        with psycopg.connect((home / "state" / "database-url").read_text()) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        first = up.child(str(up.ports[0]))
        first.kill()
        up.until_said(f"app-{up.ports[0]} ended by signal 9; starting it again")
        up.until(lambda: answers(up.ports[0]))
        assert up.child(str(up.ports[0])).pid != first.pid
        assert up.end() == 0


def test_a_killed_up_takes_its_children_along_and_its_successor_starts(home: Path) -> None:
    port = free_port()
    with started(home, port) as up:
        up.until_said("stop  ")
        up.process.kill()
        up.until(lambda: not answers(port))
    with started(home, port) as successor:
        successor.until_said("stop  ")
        assert successor.end() == 0


def test_a_successor_ends_what_a_killed_up_left_and_nothing_else(home: Path) -> None:
    """The app process is deaf to its end, as one that drains; a stranger listens beside it."""
    (home / "deaf").touch()
    port = free_port()
    with started(home, port) as up:
        up.until_said("stop  ")
        deaf = up.child(str(port))
        postmaster = up.child("postgres")
        up.process.kill()
        up.process.wait()
    assert deaf.is_running()
    (home / "deaf").unlink()
    with started(home, port) as successor:
        successor.until_said("stop  ")
        assert f"app-{port} (process {deaf.pid})" in successor.said()
        assert not deaf.is_running() or deaf.status() == psutil.STATUS_ZOMBIE
        assert not postmaster.is_running() or postmaster.status() == psutil.STATUS_ZOMBIE
        assert successor.end() == 0


def test_data_of_another_major_are_refused_in_one_line_that_names_both(home: Path) -> None:
    with started(home, free_port()) as up:
        up.until_said("stop  ")
        assert up.end() == 0
    version = home / "state" / "postgres" / "PG_VERSION"
    ours = version.read_text().strip()
    version.write_text("9\n")
    with started(home, free_port()) as again:
        assert again.process.wait(60) == 1
        *_, line = again.said().splitlines()
    assert "was made by PostgreSQL 9" in line
    assert f"is {ours}; install 9" in line
    assert "load into a new directory" in line


def test_a_busy_port_is_one_line_before_anything_starts(home: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with started(home, free_port(), port) as up:
            assert up.process.wait(60) == 1
            (line,) = up.said().splitlines()
    assert f"port {port} is taken by process {os.getpid()} (" in line
    assert re.search(r"give another: --port \d+$", line)
    assert not (home / "asked").exists()
    assert not (home / "state" / "postgres").exists()


def test_a_second_up_on_one_state_directory_is_refused(home: Path) -> None:
    with started(home, free_port()) as up:
        up.until_said("stop  ")
        with started(home, free_port()) as second:
            assert second.process.wait(60) == 1
            assert f"(process {up.process.pid})" in second.said()
        assert answers(up.ports[0])


def test_a_failing_migration_is_shown_and_ends_up(home: Path) -> None:
    (home / "manage.py").write_text("raise SystemExit('no such column')")
    with started(home, free_port()) as up:
        assert up.process.wait(60) == 1
        assert "migrating the database failed:\nno such column" in up.said()
    assert not (home / "state" / "database-url").exists()
