"""An endpoint that fine-tunes, and an agent that uses it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from liyagent.agents.models import Agent
from liyagent.jobs.models import Job
from liyagent.training.fine_tunes.ask import Wanted, ask_fine_tune, wanted_of
from tests.fakes.fine_tuning_endpoint import FineTuningEndpoint
from tests.unit.training.conftest import School

KEY = "vendor-key-7c1f9d"
ASKED_BY = "cli:olga"


@pytest.fixture
def endpoint(school: School, monkeypatch: pytest.MonkeyPatch) -> Iterator[FineTuningEndpoint]:
    """An endpoint, of an agent that speaks to it."""
    monkeypatch.setenv("TUNE_KEY", KEY)
    with FineTuningEndpoint() as it:
        Agent.objects.create(key="speaker", name="Speaker", provider="openai", model="m", base_url=it.base_url, api_key_env="TUNE_KEY")  # fmt: skip
        yield it


def wanted() -> Wanted:
    return wanted_of("triage", model="gpt-mini")


def asked(by: str = ASKED_BY) -> Job:
    return ask_fine_tune(wanted(), asked_by=by).job
