"""One app process, a database, and agents each of which may use one server that was not made here."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import yaml

from liyagent.core.conf import new_seal_key
from liyagent.demo.vendors.process import ROOT, VendorProcess, free_port
from liyagent.launcher.cluster import Cluster
from liyagent.launcher.ephemeral import DATABASE
from liyagent.launcher.users import server_user
from tests.servers.install import NODE_BIN, PYTHON_BIN
from tests.trials.stage import Stage

ENDED = ("answered", "declined", "failed", "stopped", "interrupted")
LOOK_SECONDS = 0.05
PERMIT = '@id("all") permit(principal, action, resource);'
SETTINGS = {
    "LIYAGENT_LEASE_SECONDS": "2",
    "LIYAGENT_SWEEP_SECONDS": "0.5",
    "LIYAGENT_WATCH_SECONDS": "0.1",
    "LIYAGENT_POLL_SECONDS": "0.1",
    "LIYAGENT_LATE_LOOK_SECONDS": "0.5",
    "LIYAGENT_DRAIN_SECONDS": "1",
    "LIYAGENT_ALLOWED_PRIVATE_HOSTS": "127.0.0.1",
    "PYTHONUNBUFFERED": "1",
}
# What only reads: said by us, whatever the servers' hints say.
READS = {
    "git": ("git_status", "git_log"),
    "time": ("get_current_time", "convert_time"),
    "fetch": ("fetch",),
    "files": ("read_text_file", "list_directory"),
    "memory": ("read_graph",),
    "everything": ("echo", "get-sum", "get-tiny-image"),
    "everything-http": ("echo", "get-sum", "get-tiny-image"),
}


@dataclass(slots=True, kw_only=True)
class Site:
    """What a test works with. `files`, `repository` and `memory` are what the servers change."""

    stage: Stage
    directory: Path
    process: str = "A"

    @property
    def files(self) -> Path:
        """The directory that the files server may touch."""
        return self.directory / "files"

    @property
    def repository(self) -> Path:
        """The git server's repository."""
        return self.directory / "repository"

    def start_run(self, server: str, steps: Sequence[dict[str, Any]]) -> str:
        """Start a run of the agent that may use `server`, whose model plays `steps`; return its id."""
        script = yaml.safe_dump({"steps": [*steps, {"text": "done"}]})
        (self.directory / "scripts" / f"{server}.yaml").write_text(script)
        answer = self.api("POST", f"/api/agents/{server}/runs", {"task": "Do it."})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def results_of(self, run: str) -> list[str]:
        """Wait until the run was answered; return what its tools said, as the model saw it."""
        self.until(lambda: self._status(run) in ENDED, f"the end of run {run}", seconds=40)
        assert self._status(run) == "answered", self.api("GET", f"/api/runs/{run}").text
        transcript = self.api("GET", f"/api/runs/{run}/transcript").json()
        return [it["text"] for it in transcript["messages"] if it["role"] == "tool"]

    def until(self, holds: Callable[[], bool], what: str, *, seconds: float = 20) -> None:
        """Return once it holds."""
        give_up = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < give_up, f"{what}: not within {seconds} s"
            time.sleep(LOOK_SECONDS)

    def api(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        """Send one request to the living process."""
        headers = {"Authorization": f"Bearer {self.stage.token}"}
        with httpx2.Client(base_url=self.stage.url(self.process), timeout=20) as client:
            return client.request(method, path, json=body, headers=headers)

    def manage(self, *words: str) -> tuple[int, str]:
        """Run a command of manage.py; its exit code and all that it wrote."""
        ran = subprocess.run(
            [sys.executable, "manage.py", *words],
            env=dict(self.stage.env),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        return ran.returncode, ran.stdout + ran.stderr

    def git(self, *words: str) -> str:
        """What git itself says of the repository."""
        return subprocess.run(
            ["git", *words], cwd=self.repository, capture_output=True, text=True, check=True
        ).stdout.strip()

    def _status(self, run: str) -> str:
        return str(self.api("GET", f"/api/runs/{run}").json()["status"])


@contextmanager
def open_site(directory: Path) -> Iterator[Site]:
    """Set everything up below `directory`, start process A, and take all of it away again."""
    with ExitStack() as stack:
        user = server_user()
        os.chown(directory, user.uid, user.gid)
        for name in ("files", "repository", "scripts", "logs"):
            (directory / name).mkdir()
        _make_repository(directory / "repository")
        port = stack.enter_context(_everything_over_http(directory / "logs"))
        vendors = stack.enter_context(VendorProcess(directory / "ledgers"))
        cluster = stack.enter_context(Cluster(directory / "postgres"))
        cluster.create_database(DATABASE)
        env = _environment(directory, cluster.url(DATABASE))
        stage = Stage(cluster=cluster, vendors=vendors, env=env, logs=directory / "logs")
        site = Site(stage=stage, directory=directory)
        stage.manage("migrate", "--no-input")
        stage.manage("seed", f"--vendors={vendors.url}", "--no-runs")
        stage.token = stage.manage("apikeys", "create", "tests", "--user=admin", "--days=1")
        (directory / "policy.cedar").write_text(PERMIT)
        stage.manage("policies", "load", str(directory / "policy.cedar"), "--name=servers")
        (directory / "servers.yaml").write_text(yaml.safe_dump(_servers(port)))
        stage.manage("servers", "load", str(directory / "servers.yaml"), "--sync")
        for vendor in ("incident", "jira", "servicenow"):
            stage.manage("servers", "disable", vendor)
        stack.callback(stage.end)
        stage.start("A")
        stage.wait_ready("A")
        for server in READS:
            _keep_agent(site, server)
        yield site


def _keep_agent(site: Site, server: str) -> None:
    definition = {
        "name": server,
        "provider": "scripted",
        "model": server,
        "tool_patterns": [f"{server}/*"],
        "write_posture": "allow",
        "recording": "full",
    }
    answer = site.api("PUT", f"/api/agents/{server}", definition)
    assert answer.status_code == 201, answer.text


def _servers(port: int) -> dict[str, Any]:
    def server(key: str) -> dict[str, Any]:
        tools = {name: {"effect": "read"} for name in READS[key]}
        if key == "everything-http":
            url = f"http://127.0.0.1:{port}/mcp"
            return {"key": key, "transport": "http", "url": url, "tools": tools}
        return {"key": key, "transport": "stdio", "command": key, "tools": tools}

    return {"servers": [server(key) for key in READS]}


def _environment(directory: Path, database_url: str) -> dict[str, str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LIYAGENT_", "TICKETIQ_", "DATABASE_URL"))
    }
    commands = {
        "git": {"command": f"{PYTHON_BIN}/mcp-server-git"},
        "time": {"command": f"{PYTHON_BIN}/mcp-server-time"},
        "fetch": {
            "command": f"{PYTHON_BIN}/mcp-server-fetch",
            "args": ["--ignore-robots-txt", "--allow-private-ips"],
        },
        "files": {
            "command": f"{NODE_BIN}/mcp-server-filesystem",
            "args": [str(directory / "files")],
        },
        "memory": {"command": f"{NODE_BIN}/mcp-server-memory", "env": ["MEMORY_FILE_PATH"]},
        "everything": {"command": f"{NODE_BIN}/mcp-server-everything", "args": ["stdio"]},
    }
    (directory / "commands.yaml").write_text(yaml.safe_dump({"commands": commands}))
    return {
        **inherited,
        **SETTINGS,
        "DATABASE_URL": database_url,
        "MEMORY_FILE_PATH": str(directory / "memory.jsonl"),
        "LIYAGENT_COMMANDS_FILE": str(directory / "commands.yaml"),
        "LIYAGENT_STATE_DIR": str(directory / "state"),
        "LIYAGENT_SCRIPTS_DIR": str(directory / "scripts"),
        "LIYAGENT_SECRET_KEY": secrets.token_urlsafe(48),
        "LIYAGENT_SEAL_KEYS": new_seal_key(),
        "LIYAGENT_ADMIN_PASSWORD": secrets.token_urlsafe(12),
    }


def _make_repository(directory: Path) -> None:
    for words in (
        ("init", "-q"),
        ("config", "user.name", "tests"),
        ("config", "user.email", "tests@example.com"),
    ):
        subprocess.run(["git", *words], cwd=directory, check=True)


@contextmanager
def _everything_over_http(logs: Path) -> Iterator[int]:
    """The one server that is not started by us: at an address of its own."""
    port = free_port()
    with (logs / "everything.log").open("wb") as log:
        process = subprocess.Popen(
            [str(NODE_BIN / "mcp-server-everything"), "streamableHttp"],
            env={**os.environ, "PORT": str(port)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_for_port(port)
            yield port
        finally:
            process.terminate()
            process.wait(timeout=10)


def _wait_for_port(port: int) -> None:
    give_up = time.monotonic() + 20
    while True:
        try:
            httpx2.get(f"http://127.0.0.1:{port}/", timeout=1, trust_env=False)
        except httpx2.HTTPError:
            assert time.monotonic() < give_up, "the everything server did not start"
            time.sleep(LOOK_SECONDS)
        else:
            return
