"""One PostgreSQL cluster of our own: made, started, checked to be ours, started again, stopped.

TCP on 127.0.0.1 with scram passwords, and a socket in the data directory. Durability is the server's
default: a commit that was acknowledged survives a kill.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
from psycopg import sql

from liyagent.launcher.binaries import bin_directory, major_of
from liyagent.launcher.children import signal_group, start_child
from liyagent.launcher.errors import AlreadyStarted, OtherMajor, StartFailed, Unreachable
from liyagent.launcher.predecessor import settle_predecessor
from liyagent.launcher.users import first_closed, server_user

SUPERUSER = "liyagent"
PASSWORD_FILE = "liyagent-password"  # noqa: S105 - a file's name
START_SECONDS = 60.0
# An orphan of a killed postmaster keeps its lock file and memory until it is reaped; 1.6 s were seen.
RETRY_SECONDS = 15.0
STOP_SECONDS = 30.0
LOOK_SECONDS = 0.02
SOCKET_PATH_LIMIT = 107
TAIL_BYTES = 2000


class Cluster:
    """A data directory and the server on it. Use from one thread; the server ends with that thread."""

    def __init__(
        self, data_dir: Path, *, log: Path | None = None, settings: Mapping[str, str] | None = None
    ) -> None:
        """Name the data directory; `log` takes the server's output, `settings` are passed as `-c name=value`."""
        self.data_dir = data_dir.resolve()
        self.log = log or self.data_dir.with_name(f"{self.data_dir.name}.log")
        self.settings = dict(settings or {})
        self.port: int | None = None
        self._user = server_user(self.data_dir)
        self._child: subprocess.Popen[bytes] | None = None
        self._lock: int | None = None

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    @property
    def pid(self) -> int | None:
        """The postmaster's process id while it runs."""
        return self._child.pid if self._child and self._child.poll() is None else None

    @property
    def is_running(self) -> bool:
        """Whether the postmaster is alive (a zombie is dead, and is reaped by asking)."""
        return self.pid is not None

    def url(self, database: str = "postgres") -> str:
        """Return the address of `database` for the cluster's superuser. The cluster must have been started."""
        password = (self.data_dir / PASSWORD_FILE).read_text().strip()
        return f"postgresql://{SUPERUSER}:{password}@127.0.0.1:{self.port}/{database}"

    def start(self, *, port: int | None = None) -> None:
        """Make the cluster if there is none, start it on `port` (default: a free one), wait until it answers.

        Raises `AlreadyStarted`, `OtherMajor`, `Unreachable`, `StartFailed` (with the end of the server's log).
        """
        self.data_dir.parent.mkdir(parents=True, exist_ok=True)
        self._check_reach()
        self._take_lock()
        try:
            programs = bin_directory(self._user)
            if not (self.data_dir / "PG_VERSION").is_file():
                self._make(programs)
            self._check_major(programs)
            self._start_server(programs, port)
        except BaseException:
            self.stop()
            raise

    def revive(self) -> None:
        """Start the server again on the port it had, after it died; what was committed is there."""
        self._start_server(bin_directory(self._user), self.port)

    def stop(self) -> None:
        """End sessions and stop (a fast shutdown); killed if that takes over 30 s. Fine when it is not running."""
        if self._child is not None:
            if self._child.poll() is None:
                self._child.send_signal(signal.SIGINT)
            try:
                self._child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                signal_group(self._child, signal.SIGKILL)
                self._child.wait()
            self._child = None
        if self._lock is not None:
            self._lock_path.unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    def create_database(self, name: str) -> None:
        """Create the database `name` unless it exists."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            found = connection.execute(
                "select 1 from pg_database where datname = %s", [name]
            ).fetchone()
            if found is None:
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))

    @property
    def _lock_path(self) -> Path:
        return self.data_dir.with_name(f"{self.data_dir.name}.lock")

    def _take_lock(self) -> None:
        """Hold the data directory's lock until `stop`; the kernel frees it if we are killed."""
        if self._lock is not None:
            raise AlreadyStarted("this cluster was started and not stopped", data_dir=self.data_dir)
        while True:
            handle = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                os.close(handle)
                raise AlreadyStarted(
                    "another process runs this PostgreSQL", data_dir=self.data_dir
                ) from error
            if self._lock_path.exists() and os.path.samestat(
                os.fstat(handle), self._lock_path.stat()
            ):
                self._lock = handle
                return
            os.close(handle)  # its holder removed it between our open and our lock

    def _check_reach(self) -> None:
        closed = first_closed(self.data_dir.parent, self._user)
        if closed is not None:
            raise Unreachable(
                f"PostgreSQL runs as user {self._user.uid}, who may not enter {closed}; "
                f"`chmod o+x {closed}`, another LIYAGENT_STATE_DIR, or DATABASE_URL"
            )

    def _check_major(self, programs: Path) -> None:
        found = (self.data_dir / "PG_VERSION").read_text().strip()
        ours = major_of(programs)
        if found != str(ours):
            raise OtherMajor(
                f"{self.data_dir} was made by PostgreSQL {found}, and {programs} is {ours}; install {found}, "
                "or dump with it and load into a new directory, or remove the directory to start empty"
            )

    def _make(self, programs: Path) -> None:
        """Make the cluster beside its place and move it there when it is whole."""
        if self.data_dir.is_dir() and any(self.data_dir.iterdir()):
            raise StartFailed(
                "the directory has files in it but is no PostgreSQL data", data_dir=self.data_dir
            )
        draft = self.data_dir.with_name(f"{self.data_dir.name}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        password = draft / PASSWORD_FILE
        password.touch(mode=0o600)
        password.write_text(secrets.token_hex(24))
        for path in (draft, password):
            os.chown(path, self._user.uid, self._user.gid)
        command: list[str | Path] = [
            programs / "initdb",
            "-D",
            draft / "data",
            "-U",
            SUPERUSER,
            f"--pwfile={password}",
        ]
        command += ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8"]
        child = start_child(command, log=self.log, env=self._environment(), user=self._user)
        if child.wait() != 0:
            raise StartFailed(f"initdb failed: {self._tail()}", data_dir=self.data_dir)
        password.rename(draft / "data" / PASSWORD_FILE)
        if self.data_dir.is_dir():
            self.data_dir.rmdir()
        (draft / "data").rename(self.data_dir)
        draft.rmdir()

    def _start_server(self, programs: Path, port: int | None) -> None:
        """Try until the server answers: a dead predecessor's remains and a port taken meanwhile pass."""
        give_up = time.monotonic() + RETRY_SECONDS
        while True:
            settle_predecessor(self.data_dir)
            self.port = port or free_port()
            seen = self.log.stat().st_size if self.log.exists() else 0
            self._child = start_child(
                [programs / "postgres", "-D", self.data_dir, *self._options()],
                log=self.log,
                env=self._environment(),
                when_we_die=signal.SIGINT,
                user=self._user,
            )
            if self._wait_ready():
                return
            if time.monotonic() > give_up or not _may_pass(self._tail(seen)):
                raise StartFailed(f"PostgreSQL did not start: {self._tail(seen)}", log=self.log)
            time.sleep(0.1)

    def _wait_ready(self) -> bool:
        """Return true once the server answers from our data directory, false if it ended."""
        give_up = time.monotonic() + START_SECONDS
        while time.monotonic() < give_up:
            if not self.is_running:
                return False
            try:
                with psycopg.connect(self.url(), connect_timeout=2) as connection:
                    row = connection.execute("show data_directory").fetchone()
            except psycopg.OperationalError:
                time.sleep(LOOK_SECONDS)
                continue
            return self._is_ours(row)
        raise StartFailed(f"PostgreSQL did not answer within {START_SECONDS:.0f} s: {self._tail()}")

    def _is_ours(self, row: tuple[object, ...] | None) -> bool:
        if row is None or Path(str(row[0])).resolve() != self.data_dir:
            raise StartFailed(
                f"another PostgreSQL answers on port {self.port}", its_data=row and row[0]
            )
        return True

    def _options(self) -> list[str]:
        sockets = str(self.data_dir)
        fits = len(f"{sockets}/.s.PGSQL.65535.lock") <= SOCKET_PATH_LIMIT
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": sockets if fits else "",
            "timezone": "UTC",
            **self.settings,
        }
        return [part for name, value in options.items() for part in ("-c", f"{name}={value}")]

    def _environment(self) -> dict[str, str]:
        """Leave the caller's PG* and locale variables out: they would change what is made."""
        return {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}

    def _tail(self, after: int = 0) -> str:
        written = self.log.read_bytes()[after:] if self.log.exists() else b""
        return written[-TAIL_BYTES:].decode(errors="replace").strip()


def free_port() -> int:
    """Return a TCP port on 127.0.0.1 that was free just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _may_pass(log: str) -> bool:
    """Whether what the server said goes away by itself: remains of a killed one, or a port taken meanwhile."""
    return any(
        part in log
        for part in (
            "already exists",
            "still in use",
            "Address already in use",
            "could not create any TCP/IP sockets",
        )
    )
