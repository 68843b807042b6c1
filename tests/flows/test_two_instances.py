"""Two instances, each with a database and secrets of its own: an agent of one asks an agent of the other by MCP."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx2
import psycopg
import pytest
import yaml

from liyagent.core.conf import new_seal_key
from liyagent.demo.vendors.process import VendorProcess
from liyagent.launcher.cluster import Cluster
from liyagent.launcher.ephemeral import DATABASE
from liyagent.launcher.users import server_user
from tests.memory import place_in_memory
from tests.processes.place import PACE_MS, SETTINGS
from tests.processes.prepared import prepared
from tests.trials.chains import check_chains
from tests.trials.stage import Stage
from tests.trials.watch import ENDED, Watch

pytestmark = [pytest.mark.timeout(400)]

MISSION = "INC-2026:77"
ASKER, ASKED = "front", "triage-keyed"
OTHER = "liyagent_other"
RUNS = "SELECT id, entry, agent_key, status, mission, losses, correlation_id FROM runs_run ORDER BY created_at"
CALLS = "SELECT server || '/' || tool AS tool, fate, step_key FROM runs_call WHERE run_id = %s"
FILE = {"tool": "incident/create_incident", "args": {"name": "disk 91% [{{ run }}/1]", "severity": "p3"}}  # fmt: skip
SCRIPTS = {
    ASKER: [
        {"text": "The others see to it.", "calls": [{"tool": f"peer/{ASKED}", "args": {"task": "Disk 4 is full."}}]},
        {"text": "They say: {{ results.0.answer }}"},
    ],
    ASKED: [{"text": "I file it.", "calls": [FILE]}, {"text": "It is filed."}],
}  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Instance:
    """One app process over a database of its own."""

    stage: Stage
    watch: Watch

    def runs(self) -> list[dict[str, Any]]:
        """Its runs, the oldest first."""
        return self.watch.rows(RUNS)

    def is_done(self) -> bool:
        """Whether all of them have ended."""
        return all(it["status"] in ENDED for it in self.runs())

    def incidents(self, what: str) -> list[Any]:
        """What the vendor remembers: its requests or its effects."""
        return list(self.stage.vendors.ledger("incident")[what])

    def api(self, method: str, path: str, **more: Any) -> Any:
        """Ask its API."""
        headers = {"Authorization": f"Bearer {self.stage.token}", **more.pop("headers", {})}
        with httpx2.Client(base_url=self.stage.url("A"), headers=headers, timeout=30) as client:
            answer = client.request(method, path, **more)
        assert answer.is_success, answer.text
        return answer.json()

    def timeline(self) -> list[dict[str, Any]]:
        """All of the mission's page."""
        page = self.api("GET", f"/api/missions/{MISSION}?limit=100")
        assert page["next"] is None
        entries: list[dict[str, Any]] = page["entries"]
        return entries


def until(holds: Callable[[], bool], what: str, *, seconds: float = 60) -> None:
    """Return once it holds."""
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up, what
        time.sleep(0.05)


@pytest.fixture
def both() -> Iterator[tuple[Instance, Instance]]:
    """Ours, and theirs, whose vendor it is that anything is filed at."""
    with ExitStack() as stack:
        directory = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="liyagent-two-", dir=place_in_memory())
            )
        )
        user = server_user()
        os.chown(directory, user.uid, user.gid)
        vendors = stack.enter_context(VendorProcess(directory / "ledgers"))
        start = prepared({**clean_environment(), **SETTINGS})
        start.copy(directory / "postgres")
        cluster = stack.enter_context(Cluster(directory / "postgres"))
        start.move(cluster.url(DATABASE), vendors.url)
        with psycopg.connect(cluster.url("postgres"), autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {OTHER} TEMPLATE {DATABASE}")
        write_scripts(directory / "scripts")
        made = []
        for name in (DATABASE, OTHER):
            env = {
                **clean_environment(),
                **SETTINGS,
                **start.secrets,
                # What one seals, the other cannot open.
                "LIYAGENT_SEAL_KEYS": new_seal_key(),
                "DATABASE_URL": cluster.url(name),
                "LIYAGENT_STATE_DIR": str(directory / f"state-{name}"),
                "LIYAGENT_SCRIPTS_DIR": str(directory / "scripts"),
                "PEER_TOKEN": start.token,
            }
            logs = directory / f"logs-{name}"
            logs.mkdir()
            stage = Stage(cluster=cluster, vendors=vendors, env=env, logs=logs, token=start.token)
            watch = Watch(cluster.url(name))
            stack.callback(watch.close)
            stack.callback(stage.end)
            stage.start("A")
            made.append(Instance(stage=stage, watch=watch))
        for instance in made:
            instance.stage.wait_ready("A")
        stage.set_pace(PACE_MS)
        know(made[0], made[1], directory)
        yield made[0], made[1]


def clean_environment() -> dict[str, str]:
    """What is around, without settings of ours."""
    ours = ("LIYAGENT_", "TICKETIQ_", "DATABASE_URL")
    return {name: it for name, it in os.environ.items() if not name.startswith(ours)}


def write_scripts(directory: Path) -> None:
    """What the agents do."""
    directory.mkdir()
    for name, steps in SCRIPTS.items():
        (directory / f"{name}.yaml").write_text(yaml.safe_dump({"steps": steps}))


def know(ours: Instance, theirs: Instance, directory: Path) -> None:
    """An agent of ours may ask theirs; a call is keyed by what our gateway sends with each."""
    agent = {
        "key": ASKER, "name": "Front", "provider": "scripted", "model": ASKER, "tool_patterns": ["peer/*"],
        "write_posture": "allow", "may_wait": True,
    }  # fmt: skip
    contract = {"effect": "write", "key": {"place": "meta", "window": 86_400}, "timeout": 60}
    server = {
        "key": "peer",
        "transport": "http",
        "url": f"{theirs.stage.url('A')}/mcp",
        "bearer_env": "PEER_TOKEN",
        "tools": {ASKED: contract},
    }
    for kind, row in {"agents": agent, "servers": server}.items():
        file = directory / f"{kind}.yaml"
        file.write_text(yaml.safe_dump({kind: [row]}))
        ours.stage.manage(kind, "load", str(file), *(["--sync"] if kind == "servers" else []))
    ours.stage.manage("policies", "permit", ASKER, "peer/*")


@pytest.mark.promise("MI-01")
@pytest.mark.promise("MI-05")
def test_both_pages_of_a_mission_tell_one_story_though_both_processes_are_killed(
    both: tuple[Instance, Instance],
) -> None:
    ours, theirs = both
    theirs.stage.vendors.set_pace("incident", before_ms=0, after_ms=3_000)
    started = ours.api(
        "POST",
        f"/api/agents/{ASKER}/runs",
        json={"task": "Disk 4 is full."},
        headers={"X-Liyagent-Mission": MISSION},
    )
    until(lambda: bool(theirs.incidents("requests")), "a write of theirs")
    port = urlsplit(theirs.stage.url("A")).port
    for instance in both:
        instance.stage.signal("A", signal.SIGKILL)
        instance.stage.wait_gone("A")
    theirs.stage.set_pace(PACE_MS)
    for instance, at in ((theirs, port), (ours, None)):
        instance.stage.start("A", port=at)
        instance.stage.wait_ready("A")
    for instance in both:
        until(instance.is_done, "the ends")

    # One run each, of one mission, and one incident: whoever died, nothing was asked or filed twice.
    ((our_run,), (their_run,)) = ours.runs(), theirs.runs()
    assert (our_run["id"], our_run["entry"]) == (UUID(started["id"]), "api")
    assert (their_run["agent_key"], their_run["entry"]) == (ASKED, "mcp")
    for run in (our_run, their_run):
        assert (run["status"], run["mission"]) == ("answered", MISSION)
    assert [it["tool"] for it in ours.watch.rows(CALLS, [our_run["id"]])] == [f"peer/{ASKED}"]
    assert len(theirs.incidents("effects")) == 1
    answer = ours.api("GET", f"/api/runs/{our_run['id']}")["answer"]
    assert answer == "They say: It is filed."

    # Each page tells its half, and the two halves meet in the run that the call was answered with.
    for instance, run in ((ours, our_run), (theirs, their_run)):
        named = instance.api("GET", "/api/missions")["missions"]
        assert [it["id"] for it in named] == [MISSION]
        told = instance.timeline()
        assert {it["run_id"] for it in told if it["run_id"]} == {str(run["id"])}
        assert check_chains(instance.stage.env["DATABASE_URL"], [run["id"]]) == ((), 0)
    ours_told, theirs_told = str(ours.timeline()), str(theirs.timeline())
    assert f"peer/{ASKED}" in ours_told
    assert "incident/create_incident" in theirs_told
    assert "mcp" in theirs_told
