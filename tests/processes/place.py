"""Two real app processes over a PostgreSQL that can be taken away; the vendors remember outside of it.

The durations are scaled (ruling 38). The database's clock is hours off from the wall clock of the processes, so
that any time of their own that decided something would show (ruling 1).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import yaml

from liyagent.demo.judge import Verdict, judge
from liyagent.demo.vendors.process import VENDORS, VendorProcess
from liyagent.launcher.cluster import Cluster
from liyagent.launcher.ephemeral import DATABASE
from liyagent.launcher.users import server_user
from tests.processes.prepared import prepared
from tests.trials.chains import check_chains
from tests.trials.scripts import AGENTS, READS
from tests.trials.stage import Stage
from tests.trials.trial import ledgers, requests_of
from tests.trials.watch import ENDED, Row, Watch, run_shown, write_shown

LEASE_SECONDS, SWEEP_SECONDS = 2.0, 0.5
LOOK_SECONDS = 0.02
PACE_MS = 25.0
# Of the agents whose scripts are written below.
WRITES_A_RUN = 2
SETTINGS = {
    "LIYAGENT_LEASE_SECONDS": str(LEASE_SECONDS),
    "LIYAGENT_SWEEP_SECONDS": str(SWEEP_SECONDS),
    "LIYAGENT_WATCH_SECONDS": "0.1",
    "LIYAGENT_POLL_SECONDS": "0.1",
    "LIYAGENT_LATE_LOOK_SECONDS": "0.5",
    "LIYAGENT_DRAIN_SECONDS": "1",
    "LIYAGENT_ALLOWED_PRIVATE_HOSTS": "127.0.0.1",
    "PYTHONUNBUFFERED": "1",
}
LOOKS_DUE = (
    "SELECT count(*)::int AS n FROM runs_call WHERE run_id = ANY(%s) AND late_look_at IS NOT NULL"
)
WRITES = {
    "keyed": ("incident/create_incident", "name", {"severity": "p3"}),
    "readable": ("jira/create_issue", "summary", {"project": "OPS"}),
    "blind": ("servicenow/create_change", "short_description", {}),
}


@dataclass(slots=True, kw_only=True)
class Place:
    """What a test strikes at, and how it looks at what came of it."""

    stage: Stage
    watch: Watch

    def start_runs(self, *kinds: str, at: str = "A") -> list[UUID]:
        """Start a run of each kind of agent, or of the agent so named, through a process's API; each is accepted."""
        headers = {"Authorization": f"Bearer {self.stage.token}"}
        with httpx2.Client(base_url=self.stage.url(at), headers=headers, timeout=10) as client:
            answers = [
                client.post(
                    f"/api/agents/{AGENTS.get(kind, kind)}/runs", json={"task": "File two things."}
                )
                for kind in kinds
            ]
        assert [it.status_code for it in answers] == [202] * len(kinds)
        return [UUID(it.json()["id"]) for it in answers]

    def wait_for_requests(self, vendor: str, runs: Sequence[UUID], *, most: int = 1) -> None:
        """Return once this vendor has received `most` writes of these runs, whatever it answered."""
        self.until(lambda: len(self._requests(vendor, runs)) >= most, f"a write at {vendor}")

    def wait_for_ends(self, runs: Sequence[UUID], *, seconds: float = 30) -> None:
        """Return once all these runs have ended."""
        self.until(
            lambda: all(it["status"] in ENDED for it in self.watch.runs(runs)),
            f"the end of {len(runs)} runs",
            seconds=seconds,
        )

    def until(self, holds: Callable[[], bool], what: str, *, seconds: float = 20) -> None:
        """Return once it holds."""
        give_up = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < give_up, f"{what}: not within {seconds} s"
            time.sleep(LOOK_SECONDS)

    def pause_database(self, seconds: float, *, how: signal.Signals) -> None:
        """Stop the server (SIGINT fast, SIGQUIT immediate) and start it again after `seconds`."""
        postmaster = self.stage.cluster.pid
        assert postmaster is not None
        stopped_at = time.monotonic()
        os.kill(postmaster, how)
        self.until(lambda: not self.stage.cluster.is_running, "the end of the database")
        time.sleep(max(0.0, stopped_at + seconds - time.monotonic()))
        self.stage.cluster.revive()

    def judged(self, runs: Sequence[UUID], *, asked: int = 0) -> Verdict:
        """What the product shows of these runs after its late looks, against what the vendors remember.

        `asked`: how many writes each of them is to show.
        """
        self.until(lambda: self.one(LOOKS_DUE, list(runs)) == 0, "the late looks")
        requests, _ = requests_of(ledgers(self.stage), runs)
        return judge(
            runs=[run_shown(it, asked=asked) for it in self.watch.runs(runs)],
            writes=map(write_shown, self.watch.calls(runs)),
            requests=requests,
        )

    def effects(self, runs: Sequence[UUID]) -> dict[str, int]:
        """How many requests to write of these runs each vendor has received."""
        return {vendor: len(self._requests(vendor, runs)) for vendor in VENDORS}

    def check_chains(self, runs: Sequence[UUID]) -> None:
        """Every chain verifies outside the database, without a gap, and tells of each step and call once."""
        assert check_chains(self.stage.database_url, runs) == ((), 0)
        told = self.watch.rows(
            "SELECT run_id, kind, content::jsonb->>'step' AS step, content::jsonb->>'index' AS index,"
            " count(*) AS times FROM events_runevent WHERE run_id = ANY(%s)"
            " AND kind IN ('run.started', 'step', 'tool.call', 'run.ended') GROUP BY 1, 2, 3, 4",
            [list(runs)],
        )
        assert [it for it in told if it["times"] != 1] == []

    def holders(self, *names: str) -> list[UUID]:
        """The holders that these processes are."""
        return [it for name in names for it in self.watch.holders_of(self.stage.pid(name))]

    def heads(self, runs: Sequence[UUID]) -> list[Row]:
        """The heads of these runs."""
        return self.watch.runs(runs)

    def one(self, query: str, *values: Any) -> Any:
        """Return the single value that a query answers with."""
        ((value,),) = [list(row.values()) for row in self.watch.rows(query, values)]
        return value

    def _requests(self, vendor: str, runs: Sequence[UUID]) -> list[Any]:
        found = {vendor: self.stage.vendors.ledger(vendor)}
        return requests_of(found, runs)[0]


@contextmanager
def open_place(
    directory: Path, *, urls: Callable[[Cluster, ExitStack], Mapping[str, str]]
) -> Iterator[Place]:
    """Set everything up below `directory`, start A and B, and take all of it away again.

    `urls` says by which addresses the processes reach the cluster's database.
    """
    with ExitStack() as stack:
        user = server_user()
        os.chown(directory, user.uid, user.gid)
        _write_scripts(directory / "scripts")
        vendors = stack.enter_context(VendorProcess(directory / "ledgers"))
        start = prepared(_environment(directory))
        start.copy(directory / "postgres")
        cluster = stack.enter_context(
            Cluster(directory / "postgres", settings={"track_functions": "all"})
        )
        start.move(cluster.url(DATABASE), vendors.url)
        env = {**_environment(directory), **start.secrets, **urls(cluster, stack)}
        logs = directory / "logs"
        logs.mkdir()
        stage = Stage(cluster=cluster, vendors=vendors, env=env, logs=logs, token=start.token)
        watch = Watch(stage.database_url)
        stack.callback(watch.close)
        stack.callback(stage.end)
        make_whole(stage)
        yield Place(stage=stage, watch=watch)


def make_whole(stage: Stage) -> None:
    """Let A and B both run and serve, and the vendors answer quickly."""
    stage.set_pace(PACE_MS)
    for name in ("A", "B"):
        if name not in stage.processes or stage.processes[name].pid is None:
            stage.start(name)
    for name in ("A", "B"):
        stage.wait_ready(name)


def _environment(directory: Path) -> dict[str, str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LIYAGENT_", "TICKETIQ_", "DATABASE_URL"))
    }
    return {
        **inherited,
        **SETTINGS,
        "LIYAGENT_STATE_DIR": str(directory / "state"),
        "LIYAGENT_SCRIPTS_DIR": str(directory / "scripts"),
    }


def _write_scripts(directory: Path) -> None:
    """Each kind of agent looks, writes, and writes again."""
    directory.mkdir()
    for kind, (tool, field, more) in WRITES.items():
        writes = [
            {"tool": tool, "args": {**more, field: f"disk 91% [{{{{ run }}}}/{number}]"}}
            for number in range(1, WRITES_A_RUN + 1)
        ]
        steps = [
            {"delay": 0.05, "text": "I look first.", "calls": [{"tool": READS[kind]}]},
            *({"delay": 0.1, "text": "I file it.", "calls": [write]} for write in writes),
            {"text": "All is filed."},
        ]
        (directory / f"{AGENTS[kind]}.yaml").write_text(yaml.safe_dump({"steps": steps}))
