"""However the endpoint answers, there is one file and one job, or a reason; who cancels ends the endpoint's job too."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from liyagent.agents.containment import contain_agent
from liyagent.agents.models import Agent
from liyagent.jobs.end import cancel_job
from liyagent.jobs.models import Job
from liyagent.training.fine_tunes import tune
from liyagent.training.fine_tunes.ask import ask_fine_tune, wanted_of
from liyagent.training.fine_tunes.errors import FineTuneInvalid, Unclear
from liyagent.training.fine_tunes.models import Example
from liyagent.training.fine_tunes.vendor import Vendor
from tests.fakes.fine_tuning_endpoint import JOBS, FineTuningEndpoint
from tests.flows.conftest import READER, make_user
from tests.unit.training.conftest import School
from tests.unit.training.fine_tunes.conftest import asked, wanted

FILES = "/files"


@pytest.fixture(autouse=True)
def ten(school: School, endpoint: FineTuningEndpoint) -> None:
    """Ten transcripts."""
    school.recorded(10)


@pytest.mark.promise("CR-06")
@pytest.mark.parametrize("path", [FILES, JOBS])
@pytest.mark.parametrize("quirk", [{"hangs_up": True}, {"status": 503}, {"status": 500}])
def test_an_answer_that_is_lost_after_it_was_made_is_found_again(
    school: School, endpoint: FineTuningEndpoint, path: str, quirk: dict[str, Any]
) -> None:
    endpoint.next("POST", path, is_after=True, **quirk)
    job = school.work_through(asked())
    assert (job.status, job.reason) == ("done", "")
    assert (len(endpoint.contents), len(endpoint.jobs)) == (1, 1)


@pytest.mark.promise("CR-06")
def test_a_creation_of_which_nobody_can_tell_is_not_made_again(school: School, endpoint: FineTuningEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    endpoint.next("POST", JOBS, hangs_up=True)
    job = school.work_through(asked(), looks=2)
    assert (job.status, len(endpoint.jobs)) == ("queued", 0)
    monkeypatch.setattr(tune, "SETTLED_SECONDS", 0.0)
    school.work_through(job)
    assert (job.status, "nobody can tell" in job.reason, len(endpoint.jobs)) == ("failed", True, 0)


@pytest.mark.parametrize("path", [FILES, JOBS])
def test_who_wants_to_be_asked_later_is(school: School, endpoint: FineTuningEndpoint, path: str) -> None:  # fmt: skip
    endpoint.next("POST", path, status=429)
    job = school.work_through(asked())
    assert (job.status, len(endpoint.contents), len(endpoint.jobs)) == ("done", 1, 1)


def test_a_refusal_is_told_in_the_words_of_the_endpoint_and_the_file_is_deleted(school: School, endpoint: FineTuningEndpoint) -> None:  # fmt: skip
    endpoint.next("POST", JOBS, status=400)
    job = school.work_through(asked())
    assert job.status == "failed"
    assert "the endpoint took no job: /v1/fine_tuning/jobs answered 400" in job.reason
    school.after_end()
    assert (endpoint.deleted, Example.objects.count()) == (["file-1"], 0)


def test_a_job_that_the_endpoint_fails_fails_ours(school: School, endpoint: FineTuningEndpoint) -> None:  # fmt: skip
    endpoint.asks = 99
    job = school.work_through(asked(), looks=3)
    assert "is running" in job.words
    endpoint.jobs["ftjob-1"].update(status="failed", error={"message": "the file has 3 lines too few"})  # fmt: skip
    school.work_through(job)
    assert (job.status, job.reason) == ("failed", "the endpoint failed the job ftjob-1: the file has 3 lines too few")  # fmt: skip


def test_an_endpoint_that_is_silent_is_asked_for_a_day(school: School, endpoint: FineTuningEndpoint) -> None:  # fmt: skip
    for _ in range(3):
        endpoint.next("GET", f"{JOBS}/ftjob-1", status=401)
    job = school.work_through(asked())
    assert job.status == "done"
    endpoint.asks = 99
    job = school.work_through(asked(), looks=3)
    for _ in range(4):
        endpoint.next("GET", f"{JOBS}/ftjob-2", status=502)
    school.work_through(job, looks=2)
    assert (job.status, "asked again" in job.words) == ("queued", True)
    long_ago = "2020-01-01T00:00:00+00:00"
    school.world.sql("UPDATE jobs_job SET cursor = jsonb_set(cursor, '{unanswered_since}', to_jsonb(%s::text)) WHERE status = 'queued'", long_ago)  # fmt: skip
    school.work_through(job)
    assert (job.status, "has told nothing of its job ftjob-2 for a day" in job.reason) == ("failed", True)  # fmt: skip


def test_who_cancels_ends_the_job_of_the_endpoint(school: School, endpoint: FineTuningEndpoint) -> None:  # fmt: skip
    endpoint.asks = 99
    job = school.work_through(asked(), looks=3)
    cancel_job(job.id, actor="olga")
    school.after_end()
    assert (endpoint.cancelled, endpoint.deleted) == (["ftjob-1"], ["file-1"])
    job.refresh_from_db()
    assert (job.status, job.after_end_at, Example.objects.count()) == ("cancelled", None, 0)


def test_cancelled_while_it_is_created_it_is_ended_once_it_appears(school: School, endpoint: FineTuningEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    as_it_is = Vendor.create
    job = asked()

    def cancelled_first(self: Vendor, body: dict[str, Any]) -> str:
        cancel_job(job.id, actor="olga")
        school.after_end()
        found = Job.objects.get(id=job.id)
        assert found.after_end_at is not None, "it may still appear"
        return as_it_is(self, body)

    monkeypatch.setattr(Vendor, "create", cancelled_first)
    school.work_through(job)
    assert (job.status, endpoint.cancelled) == ("cancelled", [])
    school.after_end()
    assert endpoint.cancelled == ["ftjob-1"]


def test_what_cannot_be_ended_there_is_told_after_a_day(school: School, endpoint: FineTuningEndpoint) -> None:  # fmt: skip
    endpoint.asks = 99
    job = school.work_through(asked(), looks=3)
    cancel_job(job.id, actor="olga")
    for _ in range(2):
        endpoint.next("POST", f"{JOBS}/ftjob-1/cancel", status=500)
    owing = Job.objects.filter(id=job.id, after_end_at__isnull=False)
    school.after_end()
    assert owing.exists()
    school.world.sql("UPDATE jobs_job SET ended_at = ended_at - interval '25 hours'")
    school.after_end()
    assert not owing.exists()
    assert "cancel answered 500" in school.audit("job.left_over")[0]["reason"]


def test_who_may_not_read_words_any_more_sends_none(school: School, endpoint: FineTuningEndpoint) -> None:  # fmt: skip
    user = make_user("rita", *READER)
    endpoint.asks = 99
    job = school.work_through(asked(by="rita"), looks=3)
    assert job.is_live
    user.user_permissions.clear()
    school.work_through(job)
    assert (job.status, job.reason) == ("failed", "rita, who asked for it, no longer holds agents.operate")  # fmt: skip
    school.after_end()
    assert endpoint.cancelled == ["ftjob-1"]
    User.objects.filter(username="rita").update(is_active=False)
    with pytest.raises(FineTuneInvalid, match="no active user"):
        ask_fine_tune(wanted(), asked_by="rita")


def test_nothing_of_a_contained_agent_is_sent(school: School, endpoint: FineTuningEndpoint) -> None:
    job = asked()
    contain_agent("triage", actor="olga", reason="odd")
    school.work_through(job)
    assert (job.status, "is contained" in job.reason, endpoint.contents) == ("failed", True, {})


def test_an_endpoint_that_no_agent_names_any_more_is_sent_nothing(school: School, endpoint: FineTuningEndpoint) -> None:  # fmt: skip
    job = asked()
    Agent.objects.filter(key="speaker").update(base_url="http://127.0.0.1:1/v1")
    school.work_through(job)
    assert (job.status, "no agent uses the endpoint" in job.reason) == ("failed", True)
    assert not endpoint.requests


def test_a_mark_that_is_too_old_is_not_sent_by(school: School, endpoint: FineTuningEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(tune, "SEND_SECONDS", -1.0)
    job = school.work_through(asked(), looks=2)
    assert (job.status, "too old to be sent" in job.words) == ("queued", True)
    assert not endpoint.contents


@pytest.mark.parametrize(("given", "told"), [
    ({"agent_key": "none"}, "no agent"),
    ({"model": " "}, "model wants"),
    ({"provider": "anthropic"}, "provider wants openai"),
    ({"endpoint_of": "triage"}, "endpoint_of wants"),
    ({"since": "yesterday"}, "since wants"),
    ({"since": "2026-13-01"}, "since wants"),
    ({"since": "2026-01-02", "until": "2026-01-01"}, "is not before"),
])  # fmt: skip
def test_what_cannot_be_tuned_is_told(endpoint: FineTuningEndpoint, given: dict[str, str], told: str) -> None:  # fmt: skip
    known = {"agent_key": "triage", "model": "m", **given}
    with pytest.raises(Exception, match=told):
        wanted_of(known.pop("agent_key"), **known)


def test_an_endpoint_that_is_not_there_is_told_with_its_cause() -> None:
    nowhere = Vendor(base_url="http://127.0.0.1:9/v1", api_key_env="", may_leave=lambda: None)
    with pytest.raises(Unclear, match=r"^/v1/fine_tuning/jobs/x: ConnectError: .*refused"):
        nowhere.job("x")
