"""Agents use tool servers that were not made here, in real runs; what came of it is looked at from outside.

Run by `make test-servers`, which installs the servers: they come from npm and PyPI.
"""

from __future__ import annotations

import json
import re
import signal
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.servers.site import READS, Site, open_site

pytestmark = pytest.mark.timeout(120)
# It says when the commit is there, and keeps the server from answering.
SLOW_HOOK = '#!/bin/sh\ntouch "{marker}"\nsleep 20\n'


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """Not below pytest's own directories: the database's user may not enter those."""
    with (
        tempfile.TemporaryDirectory(prefix="liyagent-servers-") as directory,
        open_site(Path(directory)) as opened,
    ):
        yield opened


def step(tool: str, **args: Any) -> dict[str, Any]:
    """A step of the model that asks for one call."""
    return {"calls": [{"tool": tool, "args": args}]}


def test_every_catalogue_is_read_and_found_as_it_was_approved(site: Site) -> None:
    code, said = site.manage("servers", "check")
    assert code == 0, said
    for server in READS:
        assert re.search(rf"^{server}: protocol 20\d\d-\d\d-\d\d, \d+ tools$", said, re.MULTILINE)
        synced = site.api("POST", f"/api/servers/{server}/sync")
        assert synced.status_code == 200, synced.text
        assert synced.json()["to_approve"] == []


@pytest.mark.parametrize("server", READS)
def test_each_is_reported_on(site: Site, server: str) -> None:
    code, said = site.manage("tools", "report", server, "--json")
    report = json.loads(said[: said.rindex("}") + 1])
    assert code == (1 if report["to_mend"] else 0)
    reads = {it["tool"] for it in report["tools"] if it["effect"] == "read"}
    assert {f"{server}/{name}" for name in READS[server]} == reads
    assert all(
        it["in_doubt"] == "told unknown" for it in report["tools"] if it["effect"] == "write"
    )


def test_a_file_is_written_and_read(site: Site) -> None:
    path = str(site.files / "note.txt")
    run = site.start_run(
        "files",
        [
            step("files/write_file", path=path, content="disk 91%"),
            step("files/read_text_file", path=path),
            step("files/read_text_file", path="/etc/passwd"),
        ],
    )
    written, read, refused = site.results_of(run)
    assert (site.files / "note.txt").read_text() == "disk 91%"
    assert "Successfully wrote" in written
    assert "disk 91%" in read
    assert "outside allowed directories" in refused


def test_an_entity_is_remembered(site: Site) -> None:
    entity = {"name": "web-1", "entityType": "host", "observations": ["disk 91%"]}
    run = site.start_run(
        "memory", [step("memory/create_entities", entities=[entity]), step("memory/read_graph")]
    )
    assert "web-1" in site.results_of(run)[1]
    kept = [json.loads(it) for it in (site.directory / "memory.jsonl").read_text().splitlines()]
    assert [it["name"] for it in kept] == ["web-1"]


def test_what_changed_is_committed(site: Site) -> None:
    (site.repository / "a.txt").write_text("a")
    place = {"repo_path": str(site.repository)}
    run = site.start_run(
        "git",
        [
            step("git/git_status", **place),
            step("git/git_add", **place, files=["a.txt"]),
            step("git/git_commit", **place, message="Add a"),
            step("git/git_log", **place),
        ],
    )
    assert "Add a" in site.results_of(run)[3]
    assert site.git("log", "--format=%s") == "Add a"


def test_the_time_is_told_and_a_wrong_place_refused(site: Site) -> None:
    run = site.start_run(
        "time",
        [
            step("time/get_current_time", timezone="Europe/Berlin"),
            step("time/get_current_time", timezone="Nowhere/Land"),
        ],
    )
    told, refused = site.results_of(run)
    assert "Europe/Berlin" in told
    assert "Nowhere/Land" in refused


def test_a_page_is_fetched(site: Site) -> None:
    with served("<h1>All is well with web-1</h1>") as (url, asked):
        run = site.start_run("fetch", [step("fetch/fetch", url=url, raw=True)])
        assert "All is well with web-1" in site.results_of(run)[0]
    assert "/page" in asked


@pytest.mark.parametrize("server", ["everything", "everything-http"])
def test_whatever_a_result_is_made_of_reaches_the_model(site: Site, server: str) -> None:
    run = site.start_run(
        server,
        [
            step(f"{server}/echo", message="hello"),
            step(f"{server}/get-sum", a=2, b=3),
            step(f"{server}/get-tiny-image"),
            step(f"{server}/get-structured-content", location="Chicago"),
            step(f"{server}/get-resource-links"),
            step(f"{server}/get-resource-reference", resourceType="Text", resourceId=1),
            # From here on it sends what nobody asked for.
            step(f"{server}/toggle-simulated-logging"),
            step(f"{server}/toggle-subscriber-updates"),
            step(f"{server}/trigger-long-running-operation", duration=1, steps=3),
            step(f"{server}/simulate-research-query", topic="disks"),
            step(f"{server}/echo", message="still there"),
        ],
    )
    results = site.results_of(run)
    for result, said in zip(
        results,
        (
            "Echo: hello",
            "The sum of 2 and 3 is 5",
            "image/png",
            "temperature",
            "resource_link",
            "demo://resource",
            "logging",
            "updated notifications",
            "Long running operation completed",
            "requires task augmentation",
            "Echo: still there",
        ),
        strict=True,
    ):
        assert said in result


@pytest.mark.promise("CR-24")
@pytest.mark.promise("CR-26")
def test_a_process_that_dies_in_the_middle_of_a_commit_commits_once_and_the_run_ends(
    site: Site,
) -> None:
    marker = site.directory / "in-the-middle"
    hook = site.repository / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(SLOW_HOOK.format(marker=marker))
    hook.chmod(0o755)
    (site.repository / "b.txt").write_text("b")
    place = {"repo_path": str(site.repository)}
    run = site.start_run(
        "git",
        [
            step("git/git_add", **place, files=["b.txt"]),
            step("git/git_commit", **place, message="Add b"),
            step("git/git_log", **place),
        ],
    )
    site.until(marker.exists, "the commit")
    site.stage.signal(site.process, signal.SIGKILL)
    site.stage.wait_gone(site.process)
    hook.unlink()
    site.process = "B"
    site.stage.start("B")
    site.stage.wait_ready("B")
    _, committed, log = site.results_of(run)
    assert "outcome of this call is unknown" in committed
    assert "Add b" in log
    assert site.git("log", "--format=%s").splitlines().count("Add b") == 1
    shown = site.api("GET", f"/api/runs/{run}").json()
    assert (shown["status"], shown["attempt"]) == ("answered", 2)


class served:  # noqa: N801  # it reads as a sentence where it is used
    """A page on 127.0.0.1: its address, and the paths that were asked for."""

    def __init__(self, page: str) -> None:
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(f"<html><body>{page}</body></html>".encode())

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name in the base class
                """Say nothing."""

        self.asked = asked
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> tuple[str, list[str]]:
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}/page", self.asked

    def __exit__(self, *_error: object) -> None:
        self.server.shutdown()
        self.server.server_close()
