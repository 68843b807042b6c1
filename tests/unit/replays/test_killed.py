"""SIGKILL in the middle of a cohort replay, again and again: each run is replayed once, and the verdict is as without kills."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from liyagent.jobs.models import Job
from liyagent.replays.models import CohortReplay, Replayed
from liyagent.replays.verdict import standing_of_verdict
from tests.fakes.model_server import Turn
from tests.unit.replays.cohorts import Body, Cohorts, cohorts, number_of
from tests.unit.replays.conftest import replays, world

__all__ = ["cohorts", "replays", "world"]
# REPLAY_KILLS=20 for the whole of it.
KILLS = int(os.environ.get("REPLAY_KILLS", "3"))
SEED = int(os.environ.get("REPLAY_SEED", "7"))
RUNS = min(50, 2 * KILLS + 10)
SPARE, MOST_SECONDS = 2, 150.0 + 20.0 * KILLS
ROOT = Path(__file__).parents[3]
MODEL_SECONDS = 0.25
Process = subprocess.Popen[bytes]


@contextmanager
def working(cohorts: Cohorts) -> Iterator[Process]:
    """A process that carries; killed at the end, whatever came of it."""
    url = cohorts.world.url
    environment = {**os.environ, "DATABASE_URL": url, "LIYAGENT_DIRECT_DATABASE_URL": url, "LIYAGENT_REPLAY_PARALLEL": "2"}  # fmt: skip
    command = [sys.executable, "-m", "tests.unit.replays.working"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def up(process: Process) -> Process:
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    return process


def with_the_job(cohorts: Cohorts, job: Job, living: Sequence[Process]) -> Process | None:
    """The process that has the job now, None where that is none of them."""
    rows = cohorts.world.sql("SELECT h.pid FROM leases_holder h JOIN jobs_job j ON j.claimed_by = h.id WHERE j.id = %s", job.id)  # fmt: skip
    pids = {row[0] for row in rows}
    return next((it for it in living if it.pid in pids), None)


def job_of(replay: CohortReplay) -> Job:
    assert replay.job_id is not None
    return Job.objects.get(id=replay.job_id)


def came_to(replay: CohortReplay) -> tuple[Any, ...]:
    """What a replay came to, without how long models took."""
    facts = {
        (it.run_id, it.lane): (it.status, it.error, it.verdict, {name: value for name, value in it.diff.items() if name != "model_ms"})
        for it in Replayed.objects.filter(cohort=replay)
    }  # fmt: skip
    summary = {
        name: replay.summary[name] for name in ("runs", "replayed", "skipped", "verdicts", "served")
    }
    return replay.status, replay.verdict, summary, facts


@pytest.mark.timeout(300 + 30 * KILLS)
@pytest.mark.promise("RP-05")
def test_each_run_is_replayed_once_however_often_a_process_is_killed(cohorts: Cohorts) -> None:
    cohorts.record(RUNS)
    cohorts.turns |= {2: Turn(text="otherwise"), 5: Turn(text="", refusal="no")}
    asked: list[tuple[datetime, int]] = []

    def slowly(body: Body) -> Turn | None:
        asked.append((datetime.now(UTC), number_of(body)))
        time.sleep(MODEL_SECONDS)
        return None

    cohorts.before = slowly
    undisturbed = cohorts.done(limit=RUNS, most_calls=10_000)
    assert undisturbed.verdict == "regressed"
    asked.clear()
    cohorts.world.sql("CREATE TABLE kept (run uuid)")
    cohorts.world.sql("CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO kept VALUES (NEW.run_id); RETURN NEW; END $$")  # fmt: skip
    cohorts.world.sql("CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON replays_replayed FOR EACH ROW EXECUTE FUNCTION note()")  # fmt: skip
    replay = cohorts.ask(limit=RUNS)
    kills = kill_in_the_middle(cohorts, replay)
    replay.refresh_from_db()
    job = job_of(replay)
    assert (kills, replay.status, job.status, job.reason) == (KILLS, "done", "done", "")
    assert job.losses == KILLS
    noted = [row[0] for row in cohorts.world.sql("SELECT run FROM kept")]
    assert sorted(noted) == sorted(it.id for it in cohorts.runs), "written once, and never again"
    assert came_to(replay) == came_to(undisturbed)
    assert standing_of_verdict(replay, with_results=True).is_verified
    late = asked_again(cohorts, replay, asked)
    assert late == [], "what has a result is not asked of the model again"


def kill_in_the_middle(cohorts: Cohorts, replay: CohortReplay) -> int:
    """Kill whoever has the job at random moments, each time once another result was kept; return how often."""
    chance = random.Random(SEED)
    job = job_of(replay)
    kills, seen, until = 0, 0, time.monotonic() + MOST_SECONDS
    with ExitStack() as stack:
        living = [stack.enter_context(working(cohorts)) for _ in range(1 + SPARE)]
        for process in living:
            up(process)
        while job.is_live and time.monotonic() < until:
            time.sleep(chance.uniform(0.01, MODEL_SECONDS / 2))
            job.refresh_from_db()
            # Not again before a step was kept: three losses at one step fail a job.
            is_due = kills < KILLS and job.done > seen
            victim = with_the_job(cohorts, job, living) if is_due else None
            if victim is not None and job.is_live:
                victim.kill()
                victim.wait()
                living.remove(victim)
                # As its neighbours' watch finds it dead.
                cohorts.world.sql("DELETE FROM leases_holder WHERE pid = %s", victim.pid)
                job.refresh_from_db()
                kills, seen = kills + 1, job.done
                living.append(stack.enter_context(working(cohorts)))
    return kills


def asked_again(cohorts: Cohorts, replay: CohortReplay, asked: list[tuple[datetime, int]]) -> list[int]:  # fmt: skip
    """The runs that a model was asked about after their result was kept."""
    numbers = {run.id: number for number, run in enumerate(cohorts.runs)}
    kept = {numbers[it.run_id]: it.created_at for it in Replayed.objects.filter(cohort=replay)}
    return [number for at, number in asked if number >= 0 and at > kept[number] + timedelta(seconds=0.01)]  # fmt: skip
