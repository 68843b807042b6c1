"""What the trials are played on: PostgreSQL, the vendors, and two app processes that can be struck and replaced."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from liyagent.core.conf import new_seal_key
from liyagent.core.errors import LiyagentError
from liyagent.demo.vendors.process import ROOT, VENDORS, VendorProcess, free_port
from liyagent.launcher.cluster import Cluster
from liyagent.launcher.ephemeral import DATABASE, ephemeral_cluster
from liyagent.launcher.service import Service
from tests.trials.scripts import write_scripts

READY_SECONDS = 60.0
STOP_SECONDS = 10.0
LOOK_SECONDS = 0.02
# Longer than a stall, as the real minute is: what a process sends that was stopped between its last check and the
# system call takes effect when it goes on.
LATE_LOOK_SECONDS = 30.0
UNSHARE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
# The real durations (ruling 38); the drain is short, so that SIGTERM cuts writes.
SETTINGS = {
    "LIYAGENT_LEASE_SECONDS": "8",
    "LIYAGENT_SWEEP_SECONDS": "3",
    "LIYAGENT_DRAIN_SECONDS": "0.4",
    "LIYAGENT_LATE_LOOK_SECONDS": str(LATE_LOOK_SECONDS),
    "LIYAGENT_ALLOWED_PRIVATE_HOSTS": "127.0.0.1",
    "PYTHONUNBUFFERED": "1",
}


class StageFailed(LiyagentError):
    """Something that the trials need did not start, or died by itself."""

    code = "trials.stage_failed"


@dataclass(slots=True, kw_only=True)
class Stage:
    """What runs. `lives` counts the app processes, so that each has a log of its own.

    `apart` is what each is started under to be on a host of its own, as far as another can tell; the pid namespaces
    that it makes are held open: the number of one that is gone is given to the next, which would then look like it.
    """

    cluster: Cluster
    vendors: VendorProcess
    env: dict[str, str]
    logs: Path
    processes: dict[str, Service] = field(default_factory=dict)
    apart: Sequence[str] = ()
    namespaces: ExitStack = field(default_factory=ExitStack)
    token: str = ""
    lives: int = 0

    @property
    def database_url(self) -> str:
        """The database's address; it stays the same over a kill."""
        return self.cluster.url(DATABASE)

    def url(self, name: str) -> str:
        """Return the address of process `name`."""
        return f"http://127.0.0.1:{self.processes[name].ready_port}"

    def pid(self, name: str) -> int:
        """Return its process id. Raises `StageFailed` where it died by itself."""
        pid = self.processes[name].pid
        if pid is None:
            raise StageFailed(f"process {name} died by itself: {self.processes[name].tail()}")
        return pid

    def namespace(self, name: str) -> str:
        """Return the pid namespace of process `name`, and keep it from being another's. Raises `StageFailed`."""
        pid = self.pid(name)
        if self.apart:
            pid = next((it.pid for it in psutil.Process(pid).children()), pid)
        place = Path(f"/proc/{pid}/ns/pid")
        self.namespaces.enter_context(place.open("rb"))
        return str(place.readlink())

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to the whole process group of `name`."""
        os.killpg(self.pid(name), number)

    def start(self, name: str, *, port: int | None = None) -> None:
        """Start a fresh process `name`, on any free port unless told; take away what is left of the one before."""
        if name in self.processes:
            self.processes[name].end()
        self.lives += 1
        port = port or free_port()
        service = Service(
            name=name,
            command=[*self.apart, sys.executable, "manage.py", "serve", "--port", str(port)],
            log=self.logs / f"{self.lives:03d}-{name}.log",
            env=self.env,
            cwd=ROOT,
            ready_port=port,
        )
        self.processes[name] = service
        service.start()

    def wait_ready(self, name: str) -> None:
        """Return once process `name` serves. Raises `StageFailed`."""
        service = self.processes[name]
        wait_for(lambda: service.pid is None or service.is_ready(), f"process {name}", service)
        self.pid(name)

    def wait_gone(self, name: str) -> None:
        """Return once process `name` has ended. Raises `StageFailed`."""
        service = self.processes[name]
        wait_for(lambda: service.pid is None, f"the end of process {name}", service)

    def set_pace(self, milliseconds: float) -> None:
        """Let every vendor's write take this long before and after its effect."""
        for vendor in VENDORS:
            self.vendors.set_pace(vendor, before_ms=milliseconds, after_ms=milliseconds)

    def manage(self, *arguments: str) -> str:
        """Run a command of manage.py to its end and return the last line it wrote. Raises `StageFailed`."""
        command = Service(
            name=arguments[0],
            command=[sys.executable, "manage.py", *arguments],
            log=self.logs / "manage.log",
            env=self.env,
            cwd=ROOT,
        )
        command.start()
        try:
            wait_for(lambda: command.pid is None, f"manage.py {arguments[0]}", command)
            if command.exit_code != 0:
                raise StageFailed(f"manage.py {arguments[0]} failed: {command.tail()}")
            return "".join(command.tail().splitlines()[-1:])
        finally:
            command.end()

    def end(self) -> None:
        """End the processes: a stopped one cannot end by itself, so what is left is killed."""
        for name, service in self.processes.items():
            if self.apart and service.pid:
                self.signal(name, signal.SIGTERM)  # `unshare` passes nothing on
            else:
                service.ask_to_stop()
        until = time.monotonic() + STOP_SECONDS
        while any(it.pid for it in self.processes.values()) and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
        for service in self.processes.values():
            service.end()
        self.namespaces.close()


def wait_for(is_done: Callable[[], bool], what: str, service: Service) -> None:
    """Return once it is done. Raises `StageFailed` after a minute, with the end of the log."""
    until = time.monotonic() + READY_SECONDS
    while not is_done():
        if time.monotonic() > until:
            raise StageFailed(f"{what} took over {READY_SECONDS:.0f} s: {service.tail()}")
        time.sleep(LOOK_SECONDS)


def hosts_apart() -> tuple[str, ...]:
    """Return what a process is started under to have a pid namespace of its own. Raises `StageFailed`."""
    said = ""
    for command in (UNSHARE, (*UNSHARE, "--map-root-user")):
        try:
            tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise StageFailed("hosts cannot be simulated: there is no `unshare` here") from None
        if tried.returncode == 0:
            return command
        said = tried.stderr.strip()
    raise StageFailed(
        f"hosts cannot be simulated, no pid namespace may be made here ({said}); run it as root"
    )


@contextmanager
def stage(logs: Path, *, apart: Sequence[str] = ()) -> Iterator[Stage]:
    """Start all and take it away again; the logs stay in `logs`. Raises `StageFailed`."""
    logs.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        directory = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="liyagent-trials-"))
        )
        write_scripts(directory / "scripts")
        vendors = stack.enter_context(VendorProcess(directory / "ledgers"))
        cluster = stack.enter_context(ephemeral_cluster())
        env = _environment(directory, cluster.url(DATABASE))
        set_up = Stage(cluster=cluster, vendors=vendors, env=env, logs=logs, apart=apart)
        set_up.manage("migrate", "--no-input")
        set_up.manage("seed", f"--vendors={vendors.url}", "--no-runs")
        set_up.token = set_up.manage("apikeys", "create", "trials", "--user=admin", "--days=1")
        stack.callback(set_up.end)
        for name in ("A", "B"):
            set_up.start(name)
        for name in ("A", "B"):
            set_up.wait_ready(name)
        yield set_up


def _environment(directory: Path, database_url: str) -> dict[str, str]:
    """Only our own settings: what the shell has set must not change what is tried."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LIYAGENT_", "TICKETIQ_"))
    }
    return {
        **inherited,
        **SETTINGS,
        "DATABASE_URL": database_url,
        "LIYAGENT_STATE_DIR": str(directory / "state"),
        "LIYAGENT_SCRIPTS_DIR": str(directory / "scripts"),
        "LIYAGENT_SECRET_KEY": secrets.token_urlsafe(48),
        "LIYAGENT_SEAL_KEYS": new_seal_key(),
        "LIYAGENT_ADMIN_PASSWORD": secrets.token_urlsafe(12),
    }
