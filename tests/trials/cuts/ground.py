"""What the cuts are made on: PostgreSQL, the vendors, a survivor that lives throughout, victims, and the proxies."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Self
from uuid import UUID

from liyagent.core.conf import new_seal_key
from liyagent.demo.vendors.process import ROOT, VendorProcess, free_port
from liyagent.launcher.ephemeral import DATABASE, ephemeral_cluster
from liyagent.launcher.service import Service
from tests.memory import place_in_memory
from tests.trials.cuts.course import Fault
from tests.trials.cuts.ends import Ends, other_ends, secrets_of_ends
from tests.trials.cuts.gate import Gate
from tests.trials.cuts.kinds import POLICY, RunKind, agents, write_scripts
from tests.trials.cuts.proxies import PostgresProxy, VendorProxy
from tests.trials.cuts.python import within
from tests.trials.cuts.victims import Victim, Victims
from tests.trials.stage import Stage, StageFailed, wait_for
from tests.trials.watch import Watch

# Short, so that a cut takes a second; and those of production (ruling 38).
FAST = {"lease": 1.0, "sweep": 0.2, "watch": 0.05, "poll": 0.2, "late_look": 0.4}
REAL = {"lease": 8.0, "sweep": 3.0, "watch": 0.3, "poll": 0.5, "late_look": 30.0}
# Who is killed is proven dead, whatever its lease: one that waits to be told its run must not lose it meanwhile.
PATIENT_LEASE_SECONDS = 60.0
VICTIMS_KEPT = 8
PACE_MS = 5.0
STILL_SECONDS, LOOK_SECONDS = 10.0, 0.01
IN_A_TRANSACTION = "SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction'"
OFF = "UPDATE leases_holder SET is_draining = %s WHERE pid = %s RETURNING id"


class Desk:
    """The process beside the survivor that starts runs and decides."""

    def __init__(self, *, directory: Path, logs: Path, env: Mapping[str, str]) -> None:
        """Nothing is started yet."""
        self._path = directory / "desk.sock"
        self._service = Service(
            name="desk",
            command=within("tests.trials.cuts.desk", str(self._path)),
            log=logs / "desk.log",
            env=env,
            cwd=ROOT,
        )
        self._socket = socket.socket(socket.AF_UNIX)
        self._turn = Lock()

    def __enter__(self) -> Self:
        """Start, and have everything declared."""
        self._service.start()
        wait_for(
            lambda: self._service.pid is None or self._service.is_ready(), "desk", self._service
        )
        self._socket.connect(str(self._path))
        self._words = self._socket.makefile("rw")
        self._ask("declare", agents=agents(), policy=POLICY)
        return self

    def __exit__(self, *_how: object) -> None:
        """End it."""
        self._socket.close()
        self._service.end()

    def start(self, kind: RunKind) -> tuple[UUID, UUID]:
        """Start a run: its id and its correlation id."""
        if kind.is_workflow:
            run, correlation = self._ask("start_of_workflow", key=kind.agent)
        else:
            run, correlation = self._ask("start", agent=kind.agent)
        return UUID(run), UUID(correlation)

    def approve(self, correlation: UUID) -> int:
        """Approve what is asked under a correlation id; return how much that was."""
        return int(self._ask("approve", correlation=str(correlation)))

    def ask(self, what: str, **given: Any) -> Any:
        """Have it do what a way in wants."""
        return self._ask(what, **given)

    def _ask(self, what: str, **given: Any) -> Any:
        with self._turn:
            self._words.write(json.dumps({"do": what, **given}) + "\n")
            self._words.flush()
            return json.loads(self._words.readline())


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What there is. `clocks` are the durations in seconds."""

    stage: Stage
    watch: Watch
    gate: Gate
    desk: Desk
    patient: Victims
    mortal: Victims
    ends: Ends
    clocks: Mapping[str, float]

    def victim(self, fault: Fault) -> Victim:
        """Return a process that is ready to carry a run. One that is not to be killed has the usual lease."""
        return (self.patient if fault is Fault.KILL else self.mortal).take()

    def let_survivor_take(self, *, may: bool) -> None:
        """Let the survivor take runs, or none: only so it is certain who carries a run."""
        self.watch.rows(OFF, [not may, self.stage.pid("survivor")])

    def stop_survivor(self) -> None:
        """Let it stand still, between its transactions: what comes in falls to the victim alone."""
        pid = self.stage.pid("survivor")
        until = time.monotonic() + STILL_SECONDS
        while time.monotonic() < until:
            os.kill(pid, signal.SIGSTOP)
            if not self.watch.rows(IN_A_TRANSACTION):
                return
            os.kill(pid, signal.SIGCONT)
            time.sleep(LOOK_SECONDS)
        raise StageFailed("the survivor is never between two transactions")

    def let_survivor_go_on(self) -> None:
        """Let it do again what it does."""
        os.kill(self.stage.pid("survivor"), signal.SIGCONT)


@contextmanager
def ground(logs: Path, *, clocks: Mapping[str, float]) -> Iterator[Ground]:
    """Start all of it and take it away again; the logs stay. Raises `StageFailed`."""
    logs.mkdir(parents=True, exist_ok=True)
    gate = Gate()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="liyagent-cuts-")))
        write_scripts(directory / "scripts")
        vendors = stack.enter_context(
            VendorProcess(directory / "ledgers", before_ms=PACE_MS, after_ms=PACE_MS)
        )
        cluster = stack.enter_context(ephemeral_cluster(below=place_in_memory()))
        url = cluster.url(DATABASE)
        through = stack.enter_context(PostgresProxy(url, gate)).url
        ends = stack.enter_context(other_ends(gate))
        vendors_through = stack.enter_context(VendorProxy(vendors.url, gate)).url
        env = {**_environment(directory, url, clocks), **secrets_of_ends(ends.webhook_secret)}
        stage = Stage(cluster=cluster, vendors=vendors, env=env, logs=logs)
        stage.manage("migrate", "--no-input")
        stage.manage("seed", f"--vendors={vendors_through}", "--no-runs")
        stack.callback(stage.end)
        # One that stands still is not asked to stop.
        stack.callback(lambda: stage.signal("survivor", signal.SIGCONT))
        _start_survivor(stage)
        desk = ends.desk = stack.enter_context(Desk(directory=directory, logs=logs, env=env))
        ends.declare()
        watch = Watch(url)
        stack.callback(watch.close)
        # What renews and looks for death goes past the proxy: it is no part of a run.
        cut = {**env, "DATABASE_URL": through, "LIYAGENT_DIRECT_DATABASE_URL": url}
        patient = {
            **cut,
            "LIYAGENT_LEASE_SECONDS": str(max(PATIENT_LEASE_SECONDS, clocks["lease"])),
        }
        yield Ground(
            stage=stage,
            watch=watch,
            gate=gate,
            desk=desk,
            patient=stack.enter_context(
                Victims("patient", directory=directory, logs=logs, env=patient, kept=VICTIMS_KEPT)
            ),
            mortal=stack.enter_context(
                Victims("mortal", directory=directory, logs=logs, env=cut, kept=0)
            ),
            ends=ends,
            clocks=clocks,
        )


def _start_survivor(stage: Stage) -> None:
    port = free_port()
    service = Service(
        name="survivor",
        command=[sys.executable, "manage.py", "serve", "--no-cluster", "--port", str(port)],
        log=stage.logs / "survivor.log",
        env=stage.env,
        cwd=ROOT,
        ready_port=port,
    )
    stage.processes["survivor"] = service
    service.start()
    stage.wait_ready("survivor")


def _environment(directory: Path, url: str, clocks: Mapping[str, float]) -> dict[str, str]:
    """Only our own settings: what the shell has set must not change what is tried."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LIYAGENT_", "TICKETIQ_", "DATABASE_URL"))
    }
    return {
        **inherited,
        **{f"LIYAGENT_{name.upper()}_SECONDS": str(value) for name, value in clocks.items()},
        "LIYAGENT_DRAIN_SECONDS": "1",
        "LIYAGENT_ALLOWED_PRIVATE_HOSTS": "127.0.0.1",
        "PYTHONUNBUFFERED": "1",
        "DATABASE_URL": url,
        "LIYAGENT_STATE_DIR": str(directory / "state"),
        "LIYAGENT_SCRIPTS_DIR": str(directory / "scripts"),
        "LIYAGENT_SECRET_KEY": secrets.token_urlsafe(48),
        "LIYAGENT_SEAL_KEYS": new_seal_key(),
        "LIYAGENT_ADMIN_PASSWORD": secrets.token_urlsafe(12),
    }
