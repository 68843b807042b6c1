"""A fine-tuning over the API and at the shell."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings

from liyagent.agents.models import Agent
from liyagent.core.errors import LiyagentError
from liyagent.jobs.models import Job
from tests.fakes.fine_tuning_endpoint import FineTuningEndpoint
from tests.flows.conftest import Api
from tests.flows.test_sources import shell

ALL = "/api/fine-tunes"
BODY = {"agent": "triage", "model": "gpt-mini"}


@pytest.fixture
def endpoint(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> Iterator[FineTuningEndpoint]:
    """An endpoint, of an agent that speaks to it."""
    conf = dataclasses.replace(settings.LIYAGENT, allowed_private_hosts=("127.0.0.1",))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    monkeypatch.setenv("TUNE_KEY", "k-123456789")
    with FineTuningEndpoint() as it:
        Agent.objects.create(key="speaker", name="Speaker", provider="openai", model="m", base_url=it.base_url, api_key_env="TUNE_KEY")  # fmt: skip
        yield it


def test_who_may_read_words_asks_and_sees_how_it_goes(reader: Api, endpoint: FineTuningEndpoint) -> None:  # fmt: skip
    asked = reader.post(ALL, {**BODY, "since": "2026-01-01"})
    assert (asked.status, asked.data["is_new"]) == (202, True)
    job = asked.data["job"]
    assert (job["kind"], job["subject"], job["asked_by"]) == ("fine_tune", "triage", "rita")
    again = reader.post(ALL, BODY)
    assert (again.data["is_new"], again.data["job"]["id"]) == (False, job["id"])
    shown = reader.get(f"/api/jobs/{job['id']}").data
    assert (shown["status"], shown["result"]) == ("queued", {})
    assert reader.post(f"/api/jobs/{job['id']}/cancel", {}).data["status"] == "cancelled"


def test_who_may_not_read_words_sends_none(operator: Api, reader: Api, stranger: Api, endpoint: FineTuningEndpoint) -> None:  # fmt: skip
    assert operator.post(ALL, BODY).status == 403
    assert stranger.post(ALL, BODY).status == 403
    assert Api().post(ALL, BODY).status == 401
    assert not Job.objects.exists()


def test_what_cannot_be_asked_for_is_told(reader: Api, endpoint: FineTuningEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    wrong: Any
    for wrong in ({}, [], {**BODY, "colour": 1}, {**BODY, "model": 7}, {**BODY, "since": "soon"}, {**BODY, "endpoint_of": "triage"}):  # fmt: skip
        assert reader.post(ALL, wrong).status == 400
    assert reader.post(ALL, {**BODY, "agent": "none"}).status == 404
    monkeypatch.delenv("TUNE_KEY")
    refused = reader.post(ALL, BODY)
    assert (refused.status, "TUNE_KEY is not set" in refused.data["detail"]) == (400, True)
    assert not Job.objects.exists()


def test_the_shell_looks_and_asks(reader: Api, endpoint: FineTuningEndpoint) -> None:
    said = shell("fine_tune", "triage", "--model=gpt-mini", "--provider=openai", "--dry-run")
    assert "0 runs of triage" in said
    assert "0 transcripts, about 0 tokens" in said
    assert "too few: it takes 10" in said
    assert not Job.objects.exists()
    assert "is asked for" in shell("fine_tune", "triage", "--model=gpt-mini", "--since=2026-01-01")
    assert "is queued already" in shell("fine_tune", "triage", "--model=gpt-mini")
    with pytest.raises(LiyagentError, match="no agent"):
        shell("fine_tune", "none", "--model=m")
