"""Several processes, and SIGKILL at random moments: the sync ends as it should, nothing lost and hardly anything repeated."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from liyagent.jobs.sources.sync import ask_sync
from tests.unit.jobs.conftest import Shop

KILLS = int(os.environ.get("JOB_KILLS", "4"))
SEED = int(os.environ.get("JOB_SEED", "6"))
DOCUMENTS, MOST_SECONDS = 150, 60.0
ROOT = Path(__file__).parents[3]


@contextmanager
def working(shop: Shop, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that works; killed at the end, whatever came of it."""
    environment = {**os.environ, "DATABASE_URL": shop.url, "LIYAGENT_DIRECT_DATABASE_URL": shop.url, "LIYAGENT_SOURCE_ROOTS": str(shop.root)}  # fmt: skip
    command = [sys.executable, "-m", "tests.unit.jobs.working", str(log)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.timeout(180)
@pytest.mark.promise("CR-06")
def test_a_sync_survives_the_death_of_every_process_that_has_it(shop: Shop, tmp_path: Path) -> None:
    names = [f"{number:03}.md" for number in range(DOCUMENTS)]
    for name in names:
        (shop.root / name).write_text(f"text of {name}")
    shop.source()
    shop.sql("CREATE TABLE written (path text)")
    shop.sql("CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO written VALUES (NEW.path); RETURN NEW; END $$")  # fmt: skip
    shop.sql("CREATE TRIGGER note AFTER INSERT OR UPDATE ON sources_document FOR EACH ROW EXECUTE FUNCTION note()")  # fmt: skip
    log = tmp_path / "read"
    chance = random.Random(SEED)
    kills, seen, until = 0, 0, time.monotonic() + MOST_SECONDS
    with ExitStack() as stack:
        living = [stack.enter_context(working(shop, log)) for _ in range(KILLS + 1)]
        for process in living:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
        job = ask_sync("handbook", asked_by="olga").job
        while job.is_live and time.monotonic() < until:
            time.sleep(chance.uniform(0.02, 0.1))
            job.refresh_from_db()
            # Not again before a step was kept: three losses at one step fail a job.
            is_due = kills < KILLS and job.done > seen
            victim = _with_the_job(shop, living) if is_due else None
            if victim is not None:
                victim.kill()
                victim.wait()
                living.remove(victim)
                job.refresh_from_db()
                kills, seen = kills + 1, job.done
    assert (job.status, job.done, job.reason) == ("done", DOCUMENTS, "")
    assert job.losses == kills == KILLS
    assert sorted(shop.documents()) == names
    written = Counter(row[0] for row in shop.sql("SELECT path FROM written"))
    assert set(written.values()) == {1}
    read = Counter(log.read_text().splitlines())
    assert set(read) == set(names)
    repeated = sum(read.values()) - DOCUMENTS
    assert repeated <= kills, f"{repeated} documents were read again after {kills} kills"


def _with_the_job(
    shop: Shop, living: list[subprocess.Popen[bytes]]
) -> subprocess.Popen[bytes] | None:
    """The process that works on it just now."""
    rows = shop.sql("SELECT h.name FROM jobs_job j JOIN leases_holder h ON h.id = j.claimed_by")
    return next((it for it in living if rows == [(str(it.pid),)]), None)
