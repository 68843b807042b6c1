"""A database is restored to a state from before writes took effect, as `docs/operate/deploy.md` says."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from liyagent.launcher.binaries import bin_directory
from liyagent.launcher.ephemeral import DATABASE
from tests.memory import place_in_memory
from tests.processes.place import Place, open_place

KINDS = ("keyed", "readable", "blind")
NAMES = ("A", "B")


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """A place of its own: its database is replaced."""
    with (
        tempfile.TemporaryDirectory(prefix="liyagent-restore-", dir=place_in_memory()) as directory,
        open_place(
            Path(directory), urls=lambda cluster, _stack: {"DATABASE_URL": cluster.url(DATABASE)}
        ) as place,
    ):
        yield place


def run(*command: str | Path) -> None:
    """Run one of PostgreSQL's programs to its end."""
    program = bin_directory() / command[0]
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.timeout(150)
def test_a_restored_state_is_contained_before_it_can_write_anything_again(
    place: Place, tmp_path: Path
) -> None:
    stage, dump, url = place.stage, tmp_path / "liyagent.dump", place.stage.database_url
    stage.set_pace(300)
    runs = place.start_runs(*KINDS)
    place.wait_for_requests("incident", runs)
    run("pg_dump", "-Fc", url, "-f", dump)
    stage.set_pace(10)
    place.wait_for_ends(runs)
    done = place.effects(runs)
    assert set(done.values()) == {2}
    for name in NAMES:
        os.kill(stage.pid(name), signal.SIGTERM)
        stage.wait_gone(name)

    run("pg_restore", "--clean", "--if-exists", "--no-owner", "-d", url, dump)
    assert {it["status"] for it in place.heads(runs)} == {"running"}
    stage.manage("agents", "contain", "--all", "--reason", "restored to 03:00")
    for name in NAMES:
        stage.start(name)
    for name in NAMES:
        stage.wait_ready(name)
    place.wait_for_ends(runs)
    assert {
        (it["status"], place.one("SELECT error FROM runs_run WHERE id = %s", it["id"]))
        for it in place.heads(runs)
    } == {("failed", "agent.contained")}
    assert place.effects(runs) == done

    stage.manage("agents", "release", "--all")
    again = place.start_runs(*KINDS)
    place.wait_for_ends(again)
    assert {it["status"] for it in place.heads(again)} == {"answered"}
    assert place.effects(runs) == done
    with psycopg.connect(url) as owner, pytest.raises(psycopg.Error, match="append-only"):
        owner.execute("DELETE FROM audit_auditrow")
