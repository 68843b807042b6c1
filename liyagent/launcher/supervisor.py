"""`up`: PostgreSQL, the demo vendors and the app processes, started, watched and stopped together."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from liyagent.launcher.cluster import Cluster
from liyagent.launcher.errors import StartFailed
from liyagent.launcher.orphans import Record, end_left
from liyagent.launcher.ports import check_free
from liyagent.launcher.service import Service
from liyagent.launcher.state import State, write_private

DATABASE = "liyagent"
LOOK_SECONDS = 0.1
TELL_SECONDS = 5.0
READY_SECONDS = 120.0
VENDORS_STOP_SECONDS = 5.0
# What an app process may take beyond its drain before it is killed.
GRACE_SECONDS = 5.0
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POSTGRES_SETTINGS = {"max_connections": "200"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What `up` was asked: where the code and the state are, and on which ports to listen."""

    base_dir: Path
    state: State
    ports: tuple[int, ...]
    vendors_port: int


class Stopping(Exception):
    """A signal asked for the end while something was being started."""


class Supervisor:
    """Runs the plan from the main thread until a signal; `run` returns when nothing is left."""

    def __init__(self, plan: Plan) -> None:
        """Keep the plan; nothing starts yet."""
        self._plan = plan
        self._began = time.monotonic()
        self._signals = 0
        self._cluster: Cluster | None = None
        self._services: list[Service] = []
        self._recorded: dict[str, int | None] = {}
        self._record = Record(path=plan.state.root / "children")

    def run(self) -> int:
        """Start all, watch until SIGINT or SIGTERM, stop all; return 0.

        Raises `AlreadyStarted` and `PortTaken` before anything starts, `StartFailed` with the log of what failed.
        """
        state = self._plan.state
        state.prepare()
        with state.held(), self._signals_counted(), ExitStack() as stack:
            end_left(self._record, say=self._say)
            self._check_ports()
            stack.callback(self._record.forget)
            try:
                env = self._environment(self._database(stack))
                self._once("migrating the database", ["manage.py", "migrate", "--no-input"], env)
                self._start_vendors(stack, env)
                self._once("seeding the demo", ["manage.py", "seed"], env)
                self._start_apps(stack, env)
                self._tell_ready()
                self._watch()
            except Stopping:
                pass
            self._say("stopping (once more to cut short)")
        self._say("stopped")
        return 0

    def _check_ports(self) -> None:
        asked = (*self._plan.ports, self._plan.vendors_port)
        for port in self._plan.ports:
            check_free(port, option="--port", asked=asked)
        check_free(self._plan.vendors_port, option="--vendors-port", asked=asked)

    @contextmanager
    def _signals_counted(self) -> Iterator[None]:
        def count(_number: int, _frame: FrameType | None) -> None:
            self._signals += 1

        before = {number: signal.signal(number, count) for number in STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _database(self, stack: ExitStack) -> str:
        given = os.environ.get("DATABASE_URL", "").strip()
        if given:
            self._say("using the database of DATABASE_URL")
            return given
        state = self._plan.state
        self._say("starting PostgreSQL")
        cluster = Cluster(
            state.postgres(), log=state.logs / "postgres.log", settings=POSTGRES_SETTINGS
        )
        stack.callback(cluster.stop)
        cluster.start()
        cluster.create_database(DATABASE)
        self._cluster = cluster
        stack.callback(state.database_url.unlink, missing_ok=True)
        write_private(state.database_url, cluster.url(DATABASE))
        return cluster.url(DATABASE)

    def _environment(self, database_url: str) -> dict[str, str]:
        state = self._plan.state
        env = {
            "LIYAGENT_ALLOWED_PRIVATE_HOSTS": "127.0.0.1,localhost",
            # What the demo's models would cost, so that runs can be compared by it.
            "LIYAGENT_PRICES_FILE": str(self._plan.base_dir / "liyagent" / "demo" / "prices.yaml"),
            **os.environ,
            "DATABASE_URL": database_url,
            "LIYAGENT_STATE_DIR": str(state.root),
            "LIYAGENT_ADMIN_PASSWORD": state.password(),
            "LIYAGENT_DEMO_VENDORS_URL": f"http://127.0.0.1:{self._plan.vendors_port}",
            "PYTHONUNBUFFERED": "1",
        }
        if not env.get("LIYAGENT_SEAL_KEYS"):
            env["LIYAGENT_DEBUG"] = "true"
        return env

    def _once(self, what: str, command: list[str], env: dict[str, str]) -> None:
        """Run a command to its end. Raises `StartFailed` with its output if it fails."""
        self._say(what)
        step = self._service(command[1], [sys.executable, *command], env)
        step.start()
        try:
            for waited in self._ticks():
                if step.pid is None:
                    break
                self._still(what, waited)
            if step.exit_code != 0:
                raise StartFailed(f"{what} failed:\n{step.tail()}", log=step.log)
        finally:
            step.end()

    def _start_vendors(self, stack: ExitStack, env: dict[str, str]) -> None:
        """Before the seed, which reads what they offer."""
        state = self._plan.state
        command = [sys.executable, "-m", "liyagent.demo.vendors"]
        command += ["--port", str(self._plan.vendors_port), "--ledger", str(state.ledgers)]
        vendors = self._service("vendors", command, env)
        stack.callback(self._stop, [vendors], VENDORS_STOP_SECONDS)
        self._start([vendors])

    def _start_apps(self, stack: ExitStack, env: dict[str, str]) -> None:
        apps = [
            self._service(
                f"app-{port}",
                [sys.executable, "manage.py", "serve", "--port", str(port)],
                env,
                ready_port=port,
            )
            for port in self._plan.ports
        ]
        stack.callback(self._stop, apps, drain_seconds() + GRACE_SECONDS)
        self._start(apps)

    def _start(self, services: list[Service]) -> None:
        """Start them side by side, then wait for each; they are watched from then on."""
        for service in services:
            service.start()
        self._services += services
        self._keep_record()
        for service in services:
            self._wait_ready(service)

    def _service(
        self, name: str, command: list[str], env: dict[str, str], *, ready_port: int | None = None
    ) -> Service:
        log = self._plan.state.logs / f"{name}.log"
        base = self._plan.base_dir
        return Service(
            name=name, command=command, log=log, env=env, cwd=base, ready_port=ready_port
        )

    def _wait_ready(self, service: Service) -> None:
        for waited in self._ticks():
            if service.pid is None:
                raise StartFailed(
                    f"{service.name} ended at once:\n{service.tail()}", log=service.log
                )
            if service.is_ready():
                self._say(f"{service.name} is ready")
                return
            if waited > READY_SECONDS:
                raise StartFailed(
                    f"{service.name} was not ready in {READY_SECONDS:.0f} s", log=service.log
                )
            self._still(f"waiting for {service.name}", waited)

    def _tell_ready(self) -> None:
        first = f"http://127.0.0.1:{self._plan.ports[0]}"
        addresses = "  ".join(f"http://127.0.0.1:{port}" for port in self._plan.ports)
        self._say(
            "ready\n\n"
            f"  app processes  {addresses}\n"
            f"  console        {first}/admin/  login admin, password {self._plan.state.password()}\n"
            f"  logs           {self._plan.state.logs}\n"
            f"  other shells   {self._settings_of_another_shell()}{os.path.relpath(sys.executable)} manage.py ...\n"
            f"  stop           Ctrl-C, or kill {os.getpid()}\n"
        )

    def _settings_of_another_shell(self) -> str:
        """Return what `manage.py` needs to find this database and these keys."""
        root = self._plan.state.root
        return f"LIYAGENT_STATE_DIR={root} " if root != self._plan.base_dir / ".liyagent" else ""

    def _watch(self) -> None:
        """Start again what dies, until a signal. PostgreSQL first: the others cannot live without it."""
        for _ in self._ticks():
            if self._cluster is not None and not self._cluster.is_running:
                self._say("PostgreSQL died; starting it again")
                self._cluster.revive()
                self._say("PostgreSQL is back; what was committed is there")
            for service in self._services:
                news = service.tend()
                if news:
                    self._say(news)
            if self._pids() != self._recorded:
                self._keep_record()

    def _keep_record(self) -> None:
        """Leave word of what runs, for a successor where this process is killed."""
        self._recorded = self._pids()
        with suppress(FileNotFoundError):  # somebody removed the state directory under us
            self._record.keep(self._recorded)

    def _pids(self) -> dict[str, int | None]:
        return {service.name: service.pid for service in self._services}

    def _stop(self, services: list[Service], seconds: float) -> None:
        """Ask them to stop; kill what is left after `seconds`, or at the second signal."""
        for service in services:
            service.ask_to_stop()
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up and self._signals < 2:
            if all(service.pid is None for service in services):
                break
            time.sleep(LOOK_SECONDS)
        for service in services:
            service.end()

    def _ticks(self) -> Iterator[float]:
        """Yield the seconds waited, ten times a second, until a signal: then `Stopping` is raised."""
        began = time.monotonic()
        while True:
            if self._signals:
                raise Stopping
            yield time.monotonic() - began
            time.sleep(LOOK_SECONDS)

    def _still(self, what: str, waited: float) -> None:
        """Say every 5 s that it goes on."""
        if waited % TELL_SECONDS < LOOK_SECONDS and waited > TELL_SECONDS:
            self._say(f"still {what}")

    def _say(self, text: str) -> None:
        sys.stdout.write(f"[{time.monotonic() - self._began:5.1f} s] {text}\n")
        sys.stdout.flush()


def drain_seconds() -> float:
    """Return what the app processes give their runs at the end; they check the setting themselves."""
    try:
        return float(os.environ.get("LIYAGENT_DRAIN_SECONDS") or 25)
    except ValueError:
        return 25.0
