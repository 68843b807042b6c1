"""Visitors behind nginx see neither a killed nor a draining process (CR-01).

Run by `make test-edge`: nginx is a system's package. It is configured by the file that the docs show.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import httpx2
import pytest

from liyagent.demo.vendors.process import ROOT, free_port
from liyagent.launcher.ephemeral import DATABASE
from tests.processes.place import Place, open_place
from tests.trials.scripts import AGENTS

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") or "nginx"
CONFIGURATION = ROOT / "docs" / "operate" / "nginx.conf"
MAIN = """
daemon off;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
{user}
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    include {directory}/liyagent.conf;
}}
"""
VISITS_PER_SECOND = 20
# Of twenty visits, this many start a run.
STARTS = 2
REPEATS = 20


@dataclass(slots=True)
class Visitors:
    """Twenty visits a second, each on a connection of its own; what they saw."""

    edge: str
    token: str
    seen: Counter[tuple[str, int]] = field(default_factory=Counter)
    accepted: list[UUID] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def visit_until_ended(self) -> None:
        """Send one visit after the other, at their times, each in a thread of its own."""
        number, began = 0, time.monotonic()
        threads = []
        while not self.ended.is_set():
            threads.append(threading.Thread(target=self._visit, args=(number,)))
            threads[-1].start()
            number += 1
            self.ended.wait(max(0.0, began + number / VISITS_PER_SECOND - time.monotonic()))
        for thread in threads:
            thread.join()

    def _visit(self, number: int) -> None:
        headers = {"Authorization": f"Bearer {self.token}"}
        with httpx2.Client(base_url=self.edge, headers=headers, timeout=30) as client:
            try:
                if number % VISITS_PER_SECOND < STARTS:
                    self._start(client)
                else:
                    self._look(client, number)
            except httpx2.HTTPError as error:
                with self.lock:
                    self.errors.append(f"{type(error).__name__}: {error}")

    def _look(self, client: httpx2.Client, number: int) -> None:
        with self.lock:
            known = self.accepted[number % len(self.accepted)] if self.accepted else None
        paths = ("/api/runs?limit=5", f"/api/runs/{known}" if known else "/health/live")
        answer = client.get(paths[number % 2])
        with self.lock:
            self.seen["GET", answer.status_code] += 1
            if answer.status_code != 200:
                self.errors.append(f"GET {answer.url}: {answer.status_code} {answer.text[:200]}")

    def _start(self, client: httpx2.Client) -> None:
        """As docs/api.md tells a client to: the same key again until it is answered."""
        key = str(uuid.uuid4())
        body = {"task": "File two things."}
        for _ in range(REPEATS):
            answer = client.post(
                f"/api/agents/{AGENTS['keyed']}/runs", json=body, headers={"Idempotency-Key": key}
            )
            with self.lock:
                self.seen["POST", answer.status_code] += 1
                if answer.status_code == 202:
                    self.accepted.append(UUID(answer.json()["id"]))
                    return
            time.sleep(0.1)
        with self.lock:
            self.errors.append(f"POST: {answer.status_code} {answer.text[:200]}")


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """Two processes that trust one proxy."""
    with (
        tempfile.TemporaryDirectory(prefix="liyagent-edge-") as directory,
        open_place(
            Path(directory), urls=lambda cluster, _stack: {"DATABASE_URL": cluster.url(DATABASE)}
        ) as place,
    ):
        yield place


@pytest.fixture
def edge(place: Place) -> Iterator[str]:
    """nginx in front of both, with the ports of this place."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="liyagent-nginx-") as directory:
        text = CONFIGURATION.read_text()
        for written, name in (("8000", "A"), ("8001", "B")):
            text, times = re.subn(
                rf"server 127\.0\.0\.1:{written} ",
                f"server 127.0.0.1:{place.stage.processes[name].ready_port} ",
                text,
            )
            assert times == 1
        text, times = re.subn(r"listen 127\.0\.0\.1:8080;", f"listen 127.0.0.1:{port};", text)
        assert times == 1
        (Path(directory) / "liyagent.conf").write_text(text)
        user = "user root;" if os.geteuid() == 0 else ""
        main = Path(directory) / "nginx.conf"
        main.write_text(MAIN.format(directory=directory, user=user))
        server = subprocess.Popen([NGINX, "-c", str(main), "-p", directory])
        try:
            place.until(lambda: _answers(f"http://127.0.0.1:{port}"), "nginx")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=10)


def _answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/health/live", timeout=2).status_code == 200
    except httpx2.HTTPError:
        return False


def start_again(place: Place, name: str) -> None:
    """A new life of the process at its old address, as a supervisor would start it."""
    port = place.stage.processes[name].ready_port
    place.stage.start(name, port=port)
    place.stage.wait_ready(name)


def visited(place: Place, edge: str, strike: Callable[[], None]) -> Visitors:
    """Let visitors come before, while and after something happens to the processes."""
    visitors = Visitors(edge, place.stage.token)
    coming = threading.Thread(target=visitors.visit_until_ended)
    coming.start()
    try:
        place.until(lambda: len(visitors.accepted) >= 3, "three accepted runs")
        strike()
        place.until(lambda: len(visitors.accepted) >= 12, "twelve accepted runs", seconds=60)
    finally:
        visitors.ended.set()
        coming.join()
    return visitors


@pytest.mark.promise("CR-01")
@pytest.mark.timeout(180)
def test_no_visitor_sees_that_one_process_is_killed_and_the_other_drained(
    place: Place, edge: str
) -> None:
    def strike() -> None:
        place.stage.signal("A", signal.SIGKILL)
        place.stage.wait_gone("A")
        start_again(place, "A")
        os.kill(place.stage.pid("B"), signal.SIGTERM)
        place.stage.wait_gone("B")
        start_again(place, "B")

    visitors = visited(place, edge, strike)
    print(sorted(visitors.seen.items()))  # noqa: T201 - the figures of this test
    assert visitors.errors == []
    assert {status for method, status in visitors.seen if method == "GET"} == {200}
    runs = sorted(set(visitors.accepted))
    assert len(runs) == len(visitors.accepted)
    place.wait_for_ends(runs, seconds=60)
    assert {it["status"] for it in place.heads(runs)} == {"answered"}
    verdict = place.judged(runs)
    assert (verdict.lost, verdict.duplicates, verdict.missing) == ((), (), ())


def test_the_edge_shows_no_metrics_and_streams_a_run(place: Place, edge: str) -> None:
    assert httpx2.get(f"{edge}/metrics", timeout=5).status_code == 404
    (run,) = place.start_runs("keyed")
    headers = {"Authorization": f"Bearer {place.stage.token}"}
    with httpx2.stream(
        "GET", f"{edge}/api/runs/{run}/stream", headers=headers, timeout=30
    ) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        kinds = [
            line.removeprefix("event: ")
            for line in answer.iter_lines()
            if line.startswith("event: ")
        ]
    assert kinds[0] == "run.started"
    assert "run.ended" in kinds
