"""Where kill trials are played: PostgreSQL, vendors and connector, a survivor that stays, and a place for victims."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import yaml

from liyagent.demo.vendors.process import VendorProcess
from liyagent.entry.teams.words import PLACEHOLDER
from liyagent.launcher.cluster import Cluster
from liyagent.launcher.ephemeral import DATABASE
from liyagent.launcher.users import server_user
from tests.fakes.signer import new_secret
from tests.fakes.teams_channel import Channel
from tests.fakes.teams_connector import SECRET, TeamsConnector
from tests.kills.plan import Way
from tests.kills.scripts import CATALOGUE, WORKFLOW, agent_of, write_scripts
from tests.memory import place_in_memory
from tests.processes.prepared import prepared
from tests.trials.stage import Stage, StageFailed
from tests.trials.watch import Watch

SURVIVOR, VICTIM = "A", "B"
# Whose API key all ask with.
ASKER = "admin"
# The real lease and sweep (ruling 38). Whoever is killed sends nothing later, so a late look need not wait.
SETTINGS = {
    "LIYAGENT_LEASE_SECONDS": "8",
    "LIYAGENT_SWEEP_SECONDS": "3",
    "LIYAGENT_LATE_LOOK_SECONDS": "2",
    "LIYAGENT_ALLOWED_PRIVATE_HOSTS": "127.0.0.1",
    "PYTHONUNBUFFERED": "1",
    "TEAMS_BOT_SECRET": SECRET,
}
HOOK_SECRET = "KILLS_HOOK_SECRET"
BOT, HOOK, BY_HAND, SLOT = "desk", "pager", "by-hand", "slot"
MOST_SLOTS = 4
NEVER = "0 0 29 2 *"
AHEAD = "SELECT extract(epoch FROM liyagent_now() - clock_timestamp())::float AS n"


@dataclass(frozen=True, slots=True, kw_only=True)
class KillStage:
    """All that a round needs. `ahead`: seconds that the database's clock is ahead of this machine's."""

    stage: Stage
    watch: Watch
    connector: TeamsConnector
    channel: Channel
    hook_secret: str
    ahead: float
    survivors: frozenset[UUID]
    apart: Sequence[str]

    def replied_at(self, activity: str) -> list[float]:
        """When a message that replies to an activity was first given words of an answer."""
        log = list(self.connector.log)
        return [
            it.at
            for it in log
            if it.was_accepted
            and it.body.get("replyToId") == activity
            and it.body.get("text") != PLACEHOLDER
        ][:1]

    def ask(self, name: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Ask a process over its API and return what it told. Raises `StageFailed` where it refused, `httpx2.TransportError`."""
        named = {"Authorization": f"Bearer {self.stage.token}"}
        named |= {key.replace("_", "-"): value for key, value in headers.items()}
        with httpx2.Client(base_url=self.stage.url(name), headers=named, timeout=30) as client:
            answer = client.request(method, path, json=body)
        if answer.status_code not in {200, 201, 202}:
            raise StageFailed(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
        return answer.json()


@contextmanager
def kill_stage(logs: Path, *, apart: Sequence[str] = ()) -> Iterator[KillStage]:
    """Start all but a victim, and take it away again; the processes' logs stay in `logs`. Raises `StageFailed`.

    `apart` is what a victim is started under to be on a host of its own.
    """
    with ExitStack() as stack:
        directory = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="liyagent-kills-", dir=place_in_memory())
            )
        )
        user = server_user()
        os.chown(directory, user.uid, user.gid)
        write_scripts(directory / "scripts")
        vendors = stack.enter_context(VendorProcess(directory / "ledgers"))
        env = _environment(directory)
        start = prepared(env)
        start.copy(directory / "postgres")
        cluster = stack.enter_context(Cluster(directory / "postgres"))
        start.move(cluster.url(DATABASE), vendors.url)
        connector = stack.enter_context(TeamsConnector())
        hook_secret = new_secret()
        env |= {**start.secrets, "DATABASE_URL": cluster.url(DATABASE), HOOK_SECRET: hook_secret}
        stage = Stage(cluster=cluster, vendors=vendors, env=env, logs=logs, token=start.token)
        watch = Watch(stage.database_url)
        stack.callback(watch.close)
        stack.callback(stage.end)
        _load_agents(stage, directory / "agents.yaml")
        stage.start(SURVIVOR)
        stage.wait_ready(SURVIVOR)
        ((ahead,),) = [row.values() for row in watch.rows(AHEAD)]
        channel = connector.channel()
        channel.ahead = ahead
        made = KillStage(
            stage=stage, watch=watch, connector=connector, channel=channel, hook_secret=hook_secret, ahead=ahead,
            survivors=frozenset(watch.holders_of(stage.pid(SURVIVOR))), apart=apart,
        )  # fmt: skip
        _open_ways(made)
        yield made


def _load_agents(stage: Stage, path: Path) -> None:
    """The demo's agents that the trials use, each with its own script, for all vendors; and the workflow that fails."""
    path.write_text(yaml.safe_dump({"agents": CATALOGUE}))
    stage.manage("agents", "load", str(path))
    path.write_text(yaml.safe_dump({"workflows": [WORKFLOW]}))
    stage.manage("workflows", "save", str(path))


def _open_ways(made: KillStage) -> None:
    connector = made.connector
    bot = {
        "agent": agent_of(Way.TEAMS),
        "app_id": connector.app_id,
        "tenant": connector.tenant,
        "secret_env": "TEAMS_BOT_SECRET",
        "metadata_url": connector.metadata_url,
        "token_url": connector.token_url,
    }
    made.ask(SURVIVOR, "PUT", f"/api/teams/bots/{BOT}", bot)
    hook = {
        "kind": "webhook",
        "agent": agent_of(Way.WEBHOOK),
        "secret_envs": [HOOK_SECRET],
        "mapping": {"task": "{{ text }}"},
        "sample": {"text": "Disks."},
        "most_a_minute": 600,
    }
    made.ask(SURVIVOR, "PUT", f"/api/webhook-triggers/{HOOK}", hook)
    fire = {"task": "Look at the disks.", "schedule": NEVER}
    made.ask(
        SURVIVOR, "PUT", f"/api/cron-triggers/{BY_HAND}", {**fire, "agent": agent_of(Way.CRON)}
    )
    for number in range(MOST_SLOTS):
        path = f"/api/cron-triggers/{SLOT}-{number}"
        made.ask(SURVIVOR, "PUT", path, {**fire, "agent": agent_of(Way.SLOT)})


def _environment(directory: Path) -> dict[str, str]:
    """Only our own settings: what the shell has set must not change what is tried."""
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
