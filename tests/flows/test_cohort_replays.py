"""A cohort replay over the API: estimated, asked for, carried, read, listed and cancelled (RP-01, RP-06)."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from liyagent.agents.definitions import save_agent
from liyagent.agents.models import Agent
from liyagent.jobs.models import Job
from liyagent.replays.models import CohortReplay
from tests.fakes.model_server import Turn
from tests.flows.conftest import READER, Api, api_of, make_user
from tests.unit.replays.cohorts import Cohorts, cohorts
from tests.unit.replays.conftest import replays, world

__all__ = ["cohorts", "replays", "world"]
ALL = "/api/agents/triage/cohort-replays"


@pytest.fixture
def override(cohorts: Cohorts) -> dict[str, Any]:
    """Another model, at an endpoint that an agent uses already."""
    known = {"provider": "openai", "base_url": cohorts.server.base_url}
    save_agent({"key": "other", "name": "O", "model": "m", **known}, actor="t")
    return {"model": "cheaper", **known}


@pytest.mark.promise("RP-06")
def test_it_is_asked_for_carried_read_and_listed(cohorts: Cohorts, override: dict[str, Any], reader: Api) -> None:  # fmt: skip
    runs = cohorts.record(3)
    cohorts.turns[1] = Turn(text="disk 1 is full")
    asked = reader.post(ALL, {"override": override, "limit": 3}, **{"X-Liyagent-Mission": "INC-7"})
    assert (asked.status, asked.data["status"], asked.data["is_new"]) == (202, "queued", True)
    assert (asked.data["verified"], asked.data["results"], asked.data["mission"]) == (None, [], "INC-7")  # fmt: skip
    assert asked.data["estimate"]["replays"] == 3
    again = reader.post(ALL, {"override": override, "limit": 3})
    assert (again.data["is_new"], again.data["id"]) == (False, asked.data["id"])
    cohorts.work()
    one = f"/api/cohort-replays/{asked.data['id']}"
    told = reader.get(one)
    assert told.status == 200
    shown = told.data
    assert (shown["status"], shown["verdict"], shown["verified"]) == ("done", "changed", True)
    assert (shown["override"], shown["agent"], shown["agent_version"]) == (override, "triage", 1)
    assert shown["progress"]["done"] == shown["progress"]["total"] == 3
    by_run = {it["run"]: it for it in shown["results"]}
    assert by_run[str(runs[1].id)]["diff"]["differs"] == ["answer"]
    assert by_run[str(runs[0].id)]["verdict"] == "same"
    assert "disk 1 is full" not in str(shown)
    words = reader.get(f"{one}/runs/{runs[1].id}").data["words"]
    assert (words["was"]["answer"], words["now"]["answer"]) == ("disk 1 is fine", "disk 1 is full")
    page = reader.get(f"{ALL}?limit=1").data
    assert [it["id"] for it in page["replays"]] == [shown["id"]]
    assert (page["next"], page["replays"][0]["verified"], "results" in page["replays"][0]) == (None, True, False)  # fmt: skip
    assert [it["event"] for it in cohorts.world.audit("agent.cohort_replay")] == ["asked", "ended"]


@pytest.mark.promise("RP-01")
def test_an_estimate_stores_and_sends_nothing(cohorts: Cohorts, override: dict[str, Any], reader: Api) -> None:  # fmt: skip
    runs = cohorts.record(2)
    told = reader.post(ALL, {"override": override, "baseline": 1, "estimate_only": True})
    assert told.status == 200
    assert told.data["estimate"] == {
        "runs": 2, "replays": 4, "model_calls": 8, "input_tokens": 0, "output_tokens": 0, "cost_micros": None, "currency": "",
    }  # fmt: skip
    assert told.data["runs"] == [str(runs[1].id), str(runs[0].id)]
    assert not Job.objects.exists()
    assert cohorts.server.requests == []


def test_a_list_leads_on(cohorts: Cohorts, override: dict[str, Any], reader: Api) -> None:
    cohorts.record(1)
    made = [reader.post(ALL, {"override": override, "baseline": it}).data["id"] for it in range(3)]
    page = reader.get(f"{ALL}?limit=2").data
    rest = reader.get(page["next"]).data
    assert [it["id"] for it in (*page["replays"], *rest["replays"])] == made[::-1]
    assert rest["next"] is None
    for wrong in ("limit=0", "cursor=x", "colour=red"):
        assert reader.get(f"{ALL}?{wrong}").status == 400


def test_it_is_cancelled_once(cohorts: Cohorts, override: dict[str, Any], reader: Api) -> None:
    cohorts.record(1)
    made = reader.post(ALL, {"override": override}).data
    ended = reader.post(f"/api/cohort-replays/{made['id']}/cancel", {})
    assert (ended.status, ended.data["status"], ended.data["reason"]) == (200, "cancelled", "cancelled by rita")  # fmt: skip
    again = reader.post(f"/api/cohort-replays/{made['id']}/cancel", {})
    assert (again.status, again.data["code"]) == (409, "replays.ended")
    cohorts.work()
    assert cohorts.server.requests == []


@pytest.mark.promise("RP-06")
def test_it_needs_both_rights(cohorts: Cohorts, override: dict[str, Any], reader: Api, operator: Api) -> None:  # fmt: skip
    runs = cohorts.record(1)
    made = reader.post(ALL, {"override": override}).data["id"]
    words = api_of(make_user("wanda", "transcripts.content.read", "agents.view_agent"))
    one = f"/api/cohort-replays/{made}"
    for api in (operator, words):
        assert api.post(ALL, {"override": override}).status == 403
        assert api.post(f"{one}/cancel", {}).status == 403
        for address in (ALL, one, f"{one}/runs/{runs[0].id}"):
            assert api.get(address).status == 403
    for address in (ALL, one, f"{one}/runs/{runs[0].id}"):
        assert Api().get(address).status == 401
    assert CohortReplay.objects.get().status == "queued"


def test_bad_input_is_told_by_its_path_and_leaves_nothing(cohorts: Cohorts, override: dict[str, Any], reader: Api) -> None:  # fmt: skip
    cohorts.record(1)
    unknown = str(uuid4())
    for body, path in (
        ({}, "override"),
        ([], "body"),
        ({"override": 7}, "override"),
        ({"override": {}}, "override"),
        ({"override": {"model": "list"}}, "override"),
        ({"override": {"modell": "x"}}, "override.modell"),
        ({"override": {"model": 7}}, "override.model"),
        ({"override": {"provider": "openia"}}, "override.provider"),
        ({"override": override, "limit": 51}, "limit"),
        ({"override": override, "limit": 1, "runs": [unknown]}, "limit"),
        ({"override": override, "runs": [str(uuid4()) for _ in range(51)]}, "runs"),
        ({"override": override, "runs": []}, "runs"),
        ({"override": override, "runs": [unknown]}, "runs[0]"),
        ({"override": override, "baseline": 6}, "baseline"),
        ({"override": override, "most_calls": -1}, "most_calls"),
        ({"override": override, "colour": "red"}, "colour"),
        ({"override": {**override, "base_url": "http://elsewhere.example/v1"}}, "override.base_url"),
    ):  # fmt: skip
        told = reader.post(ALL, body)
        assert (told.status, told.headers["Content-Type"]) == (400, "application/problem+json"), body  # fmt: skip
        assert [it["field"] for it in told.data["errors"]] == [path], told.data
    assert reader.post("/api/agents/none/cohort-replays", {"override": override}).status == 404
    Agent.objects.filter(key="triage").update(is_contained=True)
    assert reader.post(ALL, {"override": override}).status == 400
    assert not CohortReplay.objects.exists()
    assert not Job.objects.exists()


def test_what_is_not_there_is_404(cohorts: Cohorts, override: dict[str, Any], reader: Api) -> None:
    (run,) = cohorts.record(1)
    made = reader.post(ALL, {"override": override}).data["id"]
    for address, code in (
        ("/api/cohort-replays/x", "replays.not_found"),
        (f"/api/cohort-replays/{uuid4()}", "replays.not_found"),
        (f"/api/cohort-replays/{made}/runs/{run.id}", "replays.no_result"),
        (f"/api/cohort-replays/{made}/runs/{uuid4()}?lane=3", "replays.no_result"),
        ("/api/agents/none/cohort-replays", "agent.unknown"),
    ):
        told = reader.get(address)
        assert (told.status, told.data["code"]) == (404, code)
    assert reader.get(f"/api/cohort-replays/{made}/runs/{run.id}?lane=x").status == 400


def test_who_may_change_agents_may_try_any_endpoint(cohorts: Cohorts, override: dict[str, Any]) -> None:  # fmt: skip
    cohorts.record(1)
    boss = api_of(make_user("bea", *READER, "agents.change_agent"))
    elsewhere = {**override, "api_key_env": "SOME_KEY"}
    assert boss.post(ALL, {"override": elsewhere, "estimate_only": True}).status == 200


def test_a_verdict_that_was_changed_shows_everywhere(cohorts: Cohorts, override: dict[str, Any], reader: Api) -> None:  # fmt: skip
    cohorts.record(1)
    cohorts.turns[0] = Turn(text="", refusal="no")
    made = reader.post(ALL, {"override": override}).data["id"]
    cohorts.work()
    cohorts.world.sql("UPDATE replays_cohortreplay SET verdict = 'same'")
    told = reader.get(f"/api/cohort-replays/{made}").data
    assert (told["verified"], "changed since" in told["unverified_because"]) == (False, True)
    assert reader.get(ALL).data["replays"][0]["verified"] is False


@pytest.mark.promise("RP-05")
def test_an_agent_that_wants_a_replay_is_saved_by_its_verdict_alone(cohorts: Cohorts, override: dict[str, Any]) -> None:  # fmt: skip
    boss = api_of(make_user("bea", *READER, "agents.change_agent"))
    stands = {name: it for name, it in boss.get("/api/agents/triage").data.items() if name not in ("version", "is_contained", "contained_by", "contained_reason", "updated_at")}  # fmt: skip
    assert boss.send("PUT", "/api/agents/triage", {**stands, "require_replay": True}).status == 200
    changed = {**stands, "require_replay": True, **override}
    refused = boss.send("PUT", "/api/agents/triage", changed)
    assert (refused.status, refused.data["code"]) == (409, "agent.replay_wanted")
    assert "manage.py cohort_replay triage" in refused.data["detail"]
    cohorts.record(2)
    boss.post(ALL, {"override": override})
    cohorts.work()
    saved = boss.send("PUT", "/api/agents/triage", changed)
    assert (saved.status, saved.data["model"]) == (200, "cheaper")


def test_a_missions_timeline_tells_of_it(cohorts: Cohorts, override: dict[str, Any], reader: Api) -> None:  # fmt: skip
    cohorts.record(1)
    made = reader.post(ALL, {"override": override}, **{"X-Liyagent-Mission": "INC-9"}).data["id"]
    cohorts.work()
    entries = reader.get("/api/missions/INC-9").data["entries"]
    (told,) = [it for it in entries if it["kind"] == "cohort_replay"]
    assert (told["url"], told["facts"]["verdict"]) == (f"/api/cohort-replays/{made}", "same")
