"""Everything the demo plays on, started on free ports and taken away again: PostgreSQL, vendors, processes A and B."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from liyagent.core.conf import new_seal_key
from liyagent.core.errors import LiyagentError
from liyagent.demo.vendors.process import ROOT, VendorProcess, free_port
from liyagent.launcher.ephemeral import DATABASE, ephemeral_cluster
from liyagent.launcher.service import Service

NAMES = ("A", "B")
READY_SECONDS = 60.0
STOP_SECONDS = 10.0
LOOK_SECONDS = 0.05
# The default of a minute is for vendors whose search lags; these do not, and the demo is short.
LATE_LOOK_SECONDS = "5"
# Writes that take effect soon and are answered late: a kill between the two is the worst moment for a duplicate.
BEFORE_MS = 50.0
AFTER_MS = 350.0


class StageFailed(LiyagentError):
    """Something that the demo needs did not start."""

    code = "demo.stage_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What runs: the database's address, the vendors, and the two app processes by name."""

    database_url: str
    vendors: VendorProcess
    processes: dict[str, Service]
    token: str

    def url(self, name: str) -> str:
        """Return the address of process `name`."""
        return f"http://127.0.0.1:{self.processes[name].ready_port}"

    def kill(self, name: str) -> int:
        """SIGKILL process `name` alone and return the process id it had."""
        pid = self.processes[name].pid
        if pid is None:
            raise StageFailed(f"process {name} died by itself: {self.processes[name].tail()}")
        os.kill(pid, signal.SIGKILL)
        return pid


@contextmanager
def stage(say: Callable[[str], None]) -> Iterator[Stage]:
    """Start all, migrate and seed; stop all and remove every file at the end, however it ends.

    `say` is told what is being waited for. Raises `StageFailed` with the log of what did not start.
    """
    with ExitStack() as stack:
        directory = Path(tempfile.mkdtemp(prefix="liyagent-demo-"))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        say("starting three vendors and PostgreSQL")
        vendors = VendorProcess(directory / "ledgers", before_ms=BEFORE_MS, after_ms=AFTER_MS)
        stack.enter_context(vendors)
        database_url = stack.enter_context(ephemeral_cluster()).url(DATABASE)
        env = _environment(directory, database_url)
        say("migrating the database and seeding it")
        _run(["migrate", "--no-input"], env, directory)
        _run(["seed", f"--vendors={vendors.url}", "--no-runs"], env, directory)
        token = _run(["apikeys", "create", "demo", "--user=admin", "--days=1"], env, directory)
        say("starting the app processes A and B")
        processes = {name: _process(name, env, directory) for name in NAMES}
        stack.callback(_stop, list(processes.values()))
        for process in processes.values():
            process.start()
        for name, process in processes.items():
            _wait_ready(name, process)
        yield Stage(
            database_url=database_url,
            vendors=vendors,
            processes=processes,
            token=token,
        )


def _environment(directory: Path, database_url: str) -> dict[str, str]:
    """Only our own settings: what the shell has set must not change what is shown."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LIYAGENT_", "TICKETIQ_"))
    }
    return {
        **inherited,
        "DATABASE_URL": database_url,
        "LIYAGENT_STATE_DIR": str(directory),
        "LIYAGENT_SECRET_KEY": secrets.token_urlsafe(48),
        "LIYAGENT_SEAL_KEYS": new_seal_key(),
        "LIYAGENT_ALLOWED_PRIVATE_HOSTS": "127.0.0.1",
        "LIYAGENT_ADMIN_PASSWORD": secrets.token_urlsafe(12),
        "LIYAGENT_LATE_LOOK_SECONDS": LATE_LOOK_SECONDS,
        "PYTHONUNBUFFERED": "1",
    }


def _service(name: str, arguments: list[str], env: dict[str, str], directory: Path) -> Service:
    return Service(
        name=name,
        command=[sys.executable, "manage.py", *arguments],
        log=directory / f"{name}.log",
        env=env,
        cwd=ROOT,
    )


def _process(name: str, env: dict[str, str], directory: Path) -> Service:
    port = free_port()
    process = _service(name, ["serve", "--port", str(port)], env, directory)
    process.ready_port = port
    return process


def _run(arguments: list[str], env: dict[str, str], directory: Path) -> str:
    """Run a command of manage.py to its end and return the last line it wrote."""
    command = _service(arguments[0], arguments, env, directory)
    command.start()
    try:
        _wait(lambda: command.pid is None, f"manage.py {arguments[0]}", command)
        if command.exit_code != 0:
            raise StageFailed(f"manage.py {arguments[0]} failed: {command.tail()}")
        return "".join(command.tail().splitlines()[-1:])
    finally:
        command.end()


def _wait_ready(name: str, process: Service) -> None:
    _wait(lambda: process.pid is None or process.is_ready(), f"process {name}", process)
    if process.pid is None:
        raise StageFailed(f"process {name} did not start: {process.tail()}")


def _wait(is_done: Callable[[], bool], what: str, service: Service) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not is_done():
        if time.monotonic() > deadline:
            raise StageFailed(f"{what} took over {READY_SECONDS:.0f} s: {service.tail()}")
        time.sleep(LOOK_SECONDS)


def _stop(services: list[Service]) -> None:
    for service in services:
        service.ask_to_stop()
    deadline = time.monotonic() + STOP_SECONDS
    while any(service.pid for service in services) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    for service in services:
        service.end()
