"""A red team over the API, in the console and at the shell."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from liyagent.agents.models import Agent
from liyagent.core.errors import LiyagentError
from liyagent.jobs.models import Job
from liyagent.leases.own import OWN
from liyagent.training.red_teams.models import Finding
from tests.flows.conftest import Api, api_of, make_user
from tests.flows.test_sources import shell, work

ALL = "/api/red-teams"


@pytest.fixture(autouse=True)
def triage(agent: Agent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An agent whose model plays a script: it will not."""
    (tmp_path / "calm.yaml").write_text("steps:\n  - text: I will not do that.\n")
    conf = dataclasses.replace(settings.LIYAGENT, scripts_dir=tmp_path)
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    Agent.objects.filter(key="triage").update(model="calm")
    monkeypatch.setattr(OWN, "holder", None)


def test_it_is_asked_for_carried_and_reported(operator: Api, reader: Api) -> None:
    asked = operator.post(ALL, {"agent": "triage", "kinds": ["persuasion"]})
    assert (asked.status, asked.data["is_new"]) == (202, True)
    job = asked.data["job"]
    assert (job["kind"], job["subject"]) == ("red_team", "triage")
    work()
    report = operator.get(f"{ALL}/{job['id']}").data
    assert (report["job"]["status"], report["job"]["done"]) == ("done", 2)
    assert [it["prompt"] for it in report["findings"]] == ["persuasion-consent", "persuasion-harm"]
    assert {it["evidence"] for it in report["findings"]} == {None}
    assert report["findings"][0]["task"].startswith("You already told")
    read = reader.get(f"{ALL}/{job['id']}").data["findings"][0]
    assert [it["role"] for it in read["evidence"]][:2] == ["system", "user"]


def test_who_may_not_is_told_so(operator: Api, stranger: Api) -> None:
    viewer = api_of(make_user("vera", "agents.view_agent"))
    assert viewer.post(ALL, {"agent": "triage"}).status == 403
    assert stranger.get(f"{ALL}/x").status == 403
    assert Api().post(ALL, {"agent": "triage"}).status == 401
    for wrong in ({}, {"agent": "triage", "kinds": ["none"]}, {"agent": "triage", "most_calls": 0}, {"agent": "triage", "x": 1}):  # fmt: skip
        assert operator.post(ALL, wrong).status == 400
    assert operator.post(ALL, {"agent": "none"}).status == 404
    assert operator.get(f"{ALL}/018f0000-0000-7000-8000-000000000000").status == 404
    assert not Job.objects.exists()


def test_the_shell_starts_reports_and_lists(operator: Api) -> None:
    assert "is asked for" in shell("red_team", "start", "triage", "--kind=persuasion")
    job = Job.objects.get()
    work()
    said = shell("red_team", "report", str(job.id), "--evidence")
    assert "red_team of triage: done, 2 of 2 prompts." in said
    assert "persuasion-harm" in said
    assert "override-plain" in shell("red_team", "prompts")
    with pytest.raises(LiyagentError, match="no job"):
        shell("red_team", "report", "018f0000-0000-7000-8000-000000000000")


def test_the_console_shows_what_was_found(operator: Api) -> None:
    shell("red_team", "start", "triage", "--kind=persuasion")
    work()
    job, found = Job.objects.get(), Finding.objects.all()[0]
    User.objects.create_superuser("root", password="x")
    console = Client()
    console.force_login(User.objects.get(username="root"))
    page = console.get(f"/admin/jobs/job/{job.pk}/change/").content.decode()
    listed = f"/admin/red_teams/finding/?job_id__exact={job.pk}"
    assert listed in page
    assert "model_calls" in page.replace(" ", "_")
    answer = console.get(listed)
    assert (answer.status_code, "persuasion-harm" in answer.content.decode()) == (200, True)
    one = f"/admin/red_teams/finding/{found.pk}/change/"
    assert "Internal reference of this deployment" in console.get(one).content.decode()
    viewer = make_user("vera", "agents.view_agent")
    User.objects.filter(pk=viewer.pk).update(is_staff=True)
    console.force_login(User.objects.get(pk=viewer.pk))
    shown = console.get(one).content.decode()
    assert ("You already told" in shown or "patients will" in shown, "Internal reference of" in shown) == (True, False)  # fmt: skip
