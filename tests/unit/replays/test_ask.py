"""What may be tried, on which runs, and what it is said to cost; what cannot be is refused before anything is kept."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings

from liyagent.agents.definitions import definition_of, save_agent
from liyagent.agents.errors import AgentUnknown
from liyagent.agents.models import Agent
from liyagent.core.errors import BadInput
from liyagent.jobs.models import Job
from liyagent.replays.ask import ask_replay, wanted_replay
from liyagent.replays.cohort import METADATA
from liyagent.replays.errors import ReplayInvalid
from liyagent.replays.models import CohortReplay
from runs.models import Run
from tests.unit.replays.cohorts import Cohorts, cohorts
from tests.unit.replays.conftest import replays, world

__all__ = ["cohorts", "replays", "world"]
CHEAPER = {"model": "cheaper"}


def refused(cohorts: Cohorts, **asked: Any) -> dict[str, str]:
    """Return what is wrong by its path; nothing is kept."""
    with pytest.raises(ReplayInvalid) as told:
        cohorts.wanted(**asked)
    assert not CohortReplay.objects.exists()
    assert not Job.objects.exists()
    return {it["field"]: it["detail"] for it in told.value.errors}


@pytest.mark.promise("RP-01")
def test_the_most_recent_runs_that_kept_their_words_are_replayed(cohorts: Cohorts) -> None:
    runs = cohorts.record(5)
    Run.objects.filter(id=runs[4].id).update(recording="metadata")
    Run.objects.filter(id=runs[3].id).update(status="queued", ended_at=None)
    wanted = cohorts.wanted(override=CHEAPER, limit=2)
    assert wanted.cohort.ids == [str(runs[2].id), str(runs[1].id)]
    assert wanted.cohort.skipped == [{"run": str(runs[4].id), "reason": METADATA}]
    assert cohorts.wanted(override=CHEAPER).cohort.ids == [str(runs[it].id) for it in (2, 1, 0)]


def test_runs_of_workflows_and_of_other_runs_are_no_cohort(cohorts: Cohorts) -> None:
    runs = cohorts.record(4)
    Run.objects.filter(id=runs[1].id).update(workflow="outage")
    Run.objects.filter(id=runs[2].id).update(parent_id=runs[0].id, loop="key")
    Run.objects.filter(id=runs[3].id).update(loop="approved:x")
    assert cohorts.wanted(override=CHEAPER).cohort.ids == [str(runs[0].id)]


@pytest.mark.promise("RP-01")
def test_runs_are_taken_as_they_are_named(cohorts: Cohorts) -> None:
    runs = [str(it.id) for it in cohorts.record(3)]
    wanted = cohorts.wanted(override=CHEAPER, runs=[runs[2], runs[0]])
    assert (wanted.cohort.ids, wanted.cohort.skipped) == ([runs[2], runs[0]], ())


def test_what_names_no_run_of_the_agent_is_refused_by_its_place(cohorts: Cohorts) -> None:
    mine, theirs = (str(it.id) for it in cohorts.record(2))
    Run.objects.filter(id=theirs).update(agent_key="other")
    unknown = str(uuid4())
    told = refused(cohorts, override=CHEAPER, runs=[mine, "x", unknown, theirs, mine])
    assert list(told) == ["runs[1]", "runs[4]", "runs[2]", "runs[3]"]
    assert told["runs[1]"] == "is 'x'; it wants the id of a run"
    assert told["runs[2]"] == f"is {unknown}; there is no such run"
    assert told["runs[3]"] == f"is {theirs}, a run of agent other, not of triage"
    assert told["runs[4]"] == f"is run {mine} again, as runs[0]"


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ({"runs": [str(uuid4()) for _ in range(51)]}, "runs"),
        ({"runs": []}, "runs"),
        ({"runs": [str(uuid4())], "limit": 3}, "limit"),
        ({"limit": 0}, "limit"),
        ({"limit": 51}, "limit"),
        ({"baseline": 6}, "baseline"),
        ({"baseline": True}, "baseline"),
        ({"most_calls": -1}, "most_calls"),
        ({"most_tokens": 10**11}, "most_tokens"),
        ({"override": {}}, "override"),
        ({"override": {"model": "list", "provider": "listed"}}, "override"),
        ({"override": {"max_steps": 3}}, "override.max_steps"),
        ({"override": {"model": ""}}, "override.model"),
        ({"override": {"model": 7}}, "override.model"),
        ({"override": {"provider": "openia"}}, "override.provider"),
        ({"override": {"provider": "No Provider"}}, "override.provider"),
        ({"override": {"instructions": "x" * 200_001}}, "override.instructions"),
        ({"override": {"base_url": "ftp://x"}}, "override.base_url"),
        ({"override": {"api_key_env": "LIYAGENT_SECRET_KEY"}}, "override.api_key_env"),
    ],
)  # fmt: skip
def test_what_cannot_be_tried_is_refused_with_its_path(cohorts: Cohorts, asked: dict[str, Any], path: str) -> None:  # fmt: skip
    assert list(refused(cohorts, **{"override": CHEAPER, **asked})) == [path]


def test_an_unknown_provider_is_told_the_known_ones(cohorts: Cohorts) -> None:
    told = refused(cohorts, override={"provider": "openia"})["override.provider"]
    assert "anthropic" in told
    assert "openai" in told


def test_an_override_keeps_only_what_is_another(cohorts: Cohorts) -> None:
    cohorts.record()
    wanted = cohorts.wanted(override={"model": "cheaper", "provider": "listed", "instructions": ""})
    assert wanted.override == CHEAPER


def test_no_agent_and_one_that_may_send_nothing_are_refused(cohorts: Cohorts) -> None:
    with pytest.raises(AgentUnknown):
        wanted_replay("none\x00", override=CHEAPER)
    Agent.objects.update(is_contained=True)
    with pytest.raises(BadInput, match="is contained"):
        cohorts.wanted(override=CHEAPER)
    Agent.objects.update(is_contained=False, is_enabled=False)
    with pytest.raises(BadInput, match="is switched off"):
        cohorts.wanted(override=CHEAPER)


def test_words_and_keys_go_only_where_an_agent_sends_them_already(cohorts: Cohorts) -> None:
    cohorts.record()
    elsewhere = {"provider": "openai", "base_url": "https://models.example/v1", "api_key_env": "SOME_KEY"}  # fmt: skip
    told = refused(cohorts, override=elsewhere, may_choose_endpoint=False)
    assert list(told) == ["override.base_url", "override.api_key_env"]
    assert "agents.change_agent" in told["override.base_url"]
    save_agent({"key": "other", "name": "O", "model": "m", **elsewhere}, actor="t")
    wanted = cohorts.wanted(override=elsewhere, may_choose_endpoint=False)
    assert wanted.override == elsewhere
    half = {**elsewhere, "api_key_env": "ANOTHER_KEY"}
    assert refused(cohorts, override=half, may_choose_endpoint=False)
    assert cohorts.wanted(override=half, may_choose_endpoint=True).override == half


def test_an_agent_whose_name_is_no_text_is_none(cohorts: Cohorts) -> None:
    """As a shell hands on bytes that are no UTF-8."""
    for key in ("\udcff", "triage\x00\udcff"):
        with pytest.raises(AgentUnknown):
            wanted_replay(key, override=CHEAPER)


def test_a_key_is_shown_to_no_other_provider(cohorts: Cohorts) -> None:
    """Where no address is given each provider has its own: the key of one would be sent to the other."""
    cohorts.record()
    agent = Agent.objects.get(key="triage")
    save_agent({**definition_of(agent), "provider": "openai", "api_key_env": "SOME_KEY"}, actor="t")
    told = refused(cohorts, override={"provider": "anthropic"}, may_choose_endpoint=False)
    assert list(told) == ["override.provider"]
    assert "agents.change_agent" in told["override.provider"]
    without = {"provider": "anthropic", "api_key_env": "OTHER_KEY"}
    save_agent({"key": "other", "name": "O", "model": "m", **without}, actor="t")
    assert cohorts.wanted(override=without, may_choose_endpoint=False).override == without
    for override, may_choose in (({"provider": "scripted"}, False), ({"provider": "anthropic"}, True)):  # fmt: skip
        wanted = cohorts.wanted(override=override, may_choose_endpoint=may_choose)
        assert wanted.override == override


@pytest.mark.promise("RP-01")
def test_what_it_costs_is_told_before_anything_is_sent(cohorts: Cohorts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:  # fmt: skip
    cohorts.record(2)
    Run.objects.update(model_steps=3, input_tokens=1000, output_tokens=100)
    assert cohorts.wanted(override=CHEAPER).estimate["cost_micros"] is None
    (tmp_path / "prices.yaml").write_text(
        "currency: EUR\nmodels:\n  cheaper: {input: 1, output: 10}\n  list: {input: 2, output: 20}\n"
    )
    conf = dataclasses.replace(settings.LIYAGENT, prices_file=tmp_path / "prices.yaml")
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    told = cohorts.wanted(override=CHEAPER, baseline=1).estimate
    assert told == {
        "runs": 2, "replays": 4, "model_calls": 12, "input_tokens": 4000, "output_tokens": 400,
        "cost_micros": (2000 * 1 + 200 * 10) + (2000 * 2 + 200 * 20), "currency": "EUR",
    }  # fmt: skip
    assert not CohortReplay.objects.exists()
    assert cohorts.server.requests == []


@pytest.mark.promise("RP-06")
def test_it_is_kept_with_its_job_and_audited_and_the_very_same_is_found(cohorts: Cohorts) -> None:
    cohorts.record(2)
    first = ask_replay(cohorts.wanted(), asked_by="olga", mission="INC-1")
    again = ask_replay(cohorts.wanted(), asked_by="otto")
    assert (first.is_new, again.is_new, again.replay.id) == (True, False, first.replay.id)
    job = Job.objects.get()
    replay = first.replay
    assert (replay.job_id, replay.mission, replay.status) == (job.id, "INC-1", "queued")
    assert (replay.agent_version, replay.override, len(replay.runs)) == (1, cohorts.override, 2)
    (row,) = cohorts.world.audit("agent.cohort_replay")
    assert (row["event"], row["replay"], row["override"]) == ("asked", str(replay.id), cohorts.override)  # fmt: skip
    other = ask_replay(cohorts.wanted(baseline=1), asked_by="olga")
    assert (other.is_new, Job.objects.count()) == (True, 2)


def test_long_instructions_are_cut_in_the_audit(cohorts: Cohorts) -> None:
    cohorts.record()
    cohorts.ask(override={"instructions": "Be brief. " * 1000})
    (row,) = cohorts.world.audit("agent.cohort_replay")
    assert len(row["override"]["instructions"]) == 2001
    assert len(row["override"]["instructions_sha256"]) == 64
