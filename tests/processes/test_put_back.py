"""A database is put back behind the roots that were exported of it, and nobody says so: nothing is done twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from liyagent.launcher.binaries import bin_directory
from liyagent.launcher.ephemeral import DATABASE
from tests.memory import place_in_memory
from tests.processes.place import Place, open_place

KINDS = ("keyed", "readable", "blind")
NAMES = ("A", "B")


@pytest.fixture(scope="module")
def roots() -> Iterator[Path]:
    """Where roots are exported to, outside of the database's reach."""
    with tempfile.TemporaryDirectory(prefix="liyagent-roots-", dir=place_in_memory()) as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def place(roots: Path) -> Iterator[Place]:
    """A place of its own: its database is replaced, and exports its roots."""
    with (
        tempfile.TemporaryDirectory(
            prefix="liyagent-put-back-", dir=place_in_memory()
        ) as directory,
        open_place(
            Path(directory),
            urls=lambda cluster, _stack: {
                "DATABASE_URL": cluster.url(DATABASE),
                "LIYAGENT_ROOTS_EXPORT": str(roots),
                "LIYAGENT_ROOT_SECONDS": "0.3",
            },
        ) as place,
    ):
        yield place


def run(*command: str | Path) -> None:
    """Run one of PostgreSQL's programs to its end."""
    program = bin_directory() / command[0]
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def exported(roots: Path) -> int:
    """The number of the newest root at the target."""
    newest = roots / "newest.json"
    return (
        int(json.loads(newest.read_bytes())["root"]["statement"]["number"])
        if newest.exists()
        else 0
    )


@pytest.mark.promise("EV-02")
@pytest.mark.timeout(240, func_only=True)
def test_a_database_that_was_put_back_resumes_nothing_until_a_person_accepts_it(
    place: Place, roots: Path, tmp_path: Path
) -> None:
    stage, dump, url = place.stage, tmp_path / "liyagent.dump", place.stage.database_url
    stage.set_pace(300)
    runs = place.start_runs(*KINDS)
    place.wait_for_requests("incident", runs)
    run("pg_dump", "-Fc", url, "-f", dump)
    stage.set_pace(10)
    place.wait_for_ends(runs)
    done = place.effects(runs)
    sealed = "SELECT count(*)::int AS n FROM events_eventhead WHERE is_unsealed"
    place.until(lambda: place.one(sealed) == 0, "a seal on each head")
    last = place.one("SELECT max(number)::int AS n FROM events_root")
    place.until(lambda: exported(roots) == last, "the export of the newest root")
    for name in NAMES:
        os.kill(stage.pid(name), signal.SIGTERM)
        stage.wait_gone(name)

    run("pg_restore", "--clean", "--if-exists", "--no-owner", "-d", url, dump)
    assert {it["status"] for it in place.heads(runs)} == {"running"}
    for name in NAMES:
        stage.start(name)
    for name in NAMES:
        stage.wait_ready(name)
    place.wait_for_ends(runs)
    assert {it["status"] for it in place.heads(runs)} == {"failed"}
    assert place.effects(runs) == done
    assert exported(roots) == last

    stage.manage("events", "accept-rollback", "--reason", "restored to 03:00")
    stage.manage("agents", "release", "--all")
    again = place.start_runs(*KINDS)
    place.wait_for_ends(again)
    assert {it["status"] for it in place.heads(again)} == {"answered"}
    place.until(lambda: any(roots.glob("root-0002-*.json")), "the export of the new epoch")
    stage.manage("events", "verify")
    out = tmp_path / "pack"
    stage.manage("events", "export", "--run", str(again[0]), "--out", str(out))
    assert out.exists()
