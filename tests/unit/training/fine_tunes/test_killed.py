"""SIGKILL wherever it hurts: at the endpoint there is one file and one job, judged by its own ledger."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from liyagent.jobs.models import Job
from liyagent.training.fine_tunes import tune
from tests.fakes.fine_tuning_endpoint import FineTuningEndpoint
from tests.unit.training.conftest import School
from tests.unit.training.fine_tunes.conftest import asked

ROOT = Path(__file__).parents[4]
SECONDS = 90.0


def killed(school: School, endpoint: FineTuningEndpoint, at: str) -> Job:
    """A fine-tuning whose process was killed."""
    job = asked()
    environment = {
        **os.environ,
        "DATABASE_URL": school.world.url,
        "LIYAGENT_DIRECT_DATABASE_URL": school.world.url,
        "LIYAGENT_ALLOWED_PRIVATE_HOSTS": "127.0.0.1",
    }
    command = [sys.executable, "-m", "tests.unit.training.fine_tunes.working", at]
    process = subprocess.Popen(command, cwd=ROOT, env=environment)

    def kill(kind: str) -> None:
        if at == f"{kind} made":
            process.kill()

    endpoint.on_made = kill
    try:
        assert process.wait(SECONDS) < 0
    finally:
        process.kill()
        process.wait()
    school.world.sql("UPDATE leases_holder SET renew_by = liyagent_now() - interval '1 s' WHERE id = (SELECT claimed_by FROM jobs_job)")  # fmt: skip
    job.refresh_from_db()
    assert job.status == "running"
    return job


@pytest.mark.timeout(240)
@pytest.mark.promise("CR-06")
@pytest.mark.parametrize("at", ["collect", "file", "file made", "job made", "watch"])
def test_one_file_and_one_job_whenever_its_process_is_killed(
    school: School, endpoint: FineTuningEndpoint, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    school.recorded(12)
    job = killed(school, endpoint, at)
    monkeypatch.setattr(tune, "SETTLED_SECONDS", 0.0)
    school.work_through(job)
    assert (job.status, job.reason, job.losses) == ("done", "", 1)
    assert (len(endpoint.contents), len(endpoint.jobs)) == (1, 1)
    assert [it["messages"][-1]["content"] for it in endpoint.lines()] == [f"answer {number}" for number in range(12)]  # fmt: skip
    assert job.result["fine_tuned_model"] == endpoint.jobs["ftjob-1"]["fine_tuned_model"]


@pytest.mark.timeout(240)
@pytest.mark.promise("CR-06")
def test_what_nobody_can_tell_of_is_no_second_job_but_a_reason(
    school: School, endpoint: FineTuningEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    school.recorded(10)
    job = killed(school, endpoint, "job")
    school.work()
    job.refresh_from_db()
    assert (job.status, "in doubt whether the job is there" in job.words) == ("queued", True)
    monkeypatch.setattr(tune, "SETTLED_SECONDS", 0.0)
    school.work_through(job)
    assert job.status == "failed"
    assert f"Look there for a job of file file-1, or with metadata liyagent_job={job.id}" in job.reason  # fmt: skip
    assert (len(endpoint.contents), len(endpoint.jobs)) == (1, 0)
