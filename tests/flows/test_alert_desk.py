"""The alert desk of the demo: a week of the same work, really done, and two cheaper models that do most of it the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.management import call_command

from liyagent.demo import desk, seed
from liyagent.demo.vendors.alerts import FIRST
from liyagent.demo.vendors.process import VendorProcess
from liyagent.gateway import mcp
from liyagent.providers.script import read_script
from runs.await_end import wait_for_end
from runs.evidence import evidence_of
from runs.models import Run
from runs.transcript import read_transcript
from tests.databases import FreshDatabase
from tests.flows.carrying import carrying

SCRIPTS = Path(seed.__file__).parent / "scripts"
PRICES = Path(seed.__file__).parent / "prices.yaml"
CALLS = ["incident/get_alert", "jira/search_issues", "incident/create_incident", "incident/page_on_call", "incident/update_incident"]  # fmt: skip
TASKS = [desk.task_of(FIRST + it) for it in range(desk.LOOKED_AFTER)]


@pytest.fixture(scope="module")
def vendors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VendorProcess]:
    with VendorProcess(tmp_path_factory.mktemp("ledgers"), before_ms=1, after_ms=1) as running:
        yield running
        # A loop whose sessions are open keeps this process from ending.
        mcp.close_all()


def test_each_alert_was_looked_after_by_the_same_calls_and_its_chain_is_whole(
    fresh_db: FreshDatabase, vendors: VendorProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "LIYAGENT", replace(settings.LIYAGENT, prices_file=PRICES))
    call_command("seed", f"--vendors={vendors.url}", "--no-runs")
    started = desk.start_desk(started_by="admin", start_key="test")
    assert (started, desk.start_desk(started_by="admin", start_key="test")) == (16, 0)
    with carrying():
        for run in Run.objects.all():
            assert wait_for_end(run.id, seconds=30)
    answers = set()
    for run in Run.objects.all():
        judged = evidence_of(run.id, {}).judged
        assert judged is not None
        assert (run.status, run.agent_key, run.cost_micros > 0) == ("answered", "alert-desk", True)
        assert (judged.verdict.is_intact, judged.verdict.is_complete) == (True, True)
        answers.add(read_transcript(run)["answer"])
    assert len(answers) == 16


def tools_of(model: str, task: str) -> list[str]:
    """The tools that a model of the desk calls for a task, in order."""
    script = read_script(SCRIPTS / f"{model}.yaml")
    steps = [script.step_at(number, task=task) for number in range(10)]
    return [call.tool for step in steps for call in step.calls]


def test_the_cheaper_models_do_most_of_it_the_same_and_some_of_it_otherwise() -> None:
    assert all(tools_of("alert-desk-large", it) == CALLS for it in TASKS)
    assert all(tools_of("alert-desk-medium", it) == CALLS for it in TASKS)
    others = [it for it in TASKS if tools_of("alert-desk-small", it) != CALLS]
    assert [it.split()[3] for it in others] == ["ALR-2002", "ALR-2011", "ALR-2014"]
    assert "incident/page_on_call" not in [tool for it in others for tool in tools_of("alert-desk-small", it)]  # fmt: skip


def test_each_model_of_the_desk_has_a_script_and_a_price_below_the_one_before() -> None:
    prices: dict[str, Any] = yaml.safe_load(PRICES.read_text())["models"]
    assert list(prices) == [f"alert-desk-{it}" for it in ("large", "medium", "small")]
    assert all((SCRIPTS / f"{name}.yaml").is_file() for name in prices)
    for side in ("input", "output"):
        costs = [it[side] for it in prices.values()]
        assert costs == sorted(costs, reverse=True)
