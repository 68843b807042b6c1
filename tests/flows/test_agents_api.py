"""Agents over HTTP: read, saved version by version, contained, and started only by ways in that they permit."""

from __future__ import annotations

from typing import Any

import pytest

from liyagent.agents.models import Agent, AgentVersion
from liyagent.audit.models import AuditRow
from runs.models import Run
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user

PROBLEM = "application/problem+json"
BODY: dict[str, Any] = {"name": "Disk", "provider": "scripted", "model": "m"}
ADMIN = ("agents.view_agent", "agents.change_agent", "agents.add_agent")


@pytest.fixture
def admin(fresh_db: FreshDatabase) -> Api:
    """One who may save and contain agents."""
    return api_of(make_user("anna", *ADMIN))


def put(api: Api, at: str, **body: Any) -> Any:
    return api.send("PUT", f"/api/agents/{at}", {**BODY, **body})


def test_an_agent_is_created_replaced_and_kept_version_by_version(admin: Api) -> None:
    created = put(admin, "disk", max_calls=9, hooks=["log_calls"])
    assert created.status == 201, created.data
    assert (created.data["version"], created.data["max_calls"]) == (1, 9)
    same = put(admin, "disk", max_calls=9, hooks=["log_calls"], key="disk")
    assert (same.status, same.data["version"]) == (200, 1)
    replaced = put(admin, "disk")
    assert (replaced.data["version"], replaced.data["max_calls"]) == (2, 500)
    listed = admin.get("/api/agents/disk/versions?limit=1").data
    assert [it["number"] for it in listed["versions"]] == [2]
    assert [it["number"] for it in admin.get(listed["next"]).data["versions"]] == [1]
    first = admin.get("/api/agents/disk/versions/1").data
    assert (first["agent"], first["created_by"]) == ("disk", "anna")
    assert first["definition"]["max_calls"] == 9
    missing = admin.get("/api/agents/disk/versions/3")
    assert (missing.status, missing.data["code"]) == (404, "agent.version_unknown")
    assert admin.get(f"/api/agents/disk/versions/{10**30}").status == 404
    assert list(AuditRow.objects.filter(action="agent.saved").values_list("actor", flat=True)) == [
        "anna",
        "anna",
    ]


def test_a_definition_that_is_wrong_names_each_field(admin: Api) -> None:
    answer = put(admin, "disk", max_steps=0, hooks=["gone"], modl="m")
    assert (answer.status, answer.headers["Content-Type"]) == (400, PROBLEM)
    assert answer.data["code"] == "agent.invalid"
    assert sorted(it["field"] for it in answer.data["errors"]) == ["hooks", "max_steps", "modl"]
    assert not Agent.objects.exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"[]", "the body wants an object"),
        (b'"x"', "the body wants an object"),
        (b'{"key": "other"}', "is not the 'disk' of the address"),
        (b'{"expected_version": "1"}', "expected_version wants a whole number"),
        (b'{"expected_version": -1}', "expected_version wants a whole number"),
        (b"{}", "name is missing; provider is missing; model is missing"),
    ],
)
def test_a_body_that_is_no_definition_is_refused(admin: Api, body: bytes, said: str) -> None:
    answer = admin.send("PUT", "/api/agents/disk", body)
    assert answer.status == 400
    assert said in answer.data["detail"]


@pytest.mark.field("FL-32")
def test_words_that_cannot_be_stored_are_refused_or_made_storable(admin: Api) -> None:
    name = {"kind": "pattern", "name": "n", "pattern": "\x00|\ud83d"}
    hostile: tuple[dict[str, Any], ...] = (
        {"guardrails": {"output": [name]}},
        {"tool_patterns": ["a/\x00"]},
        {"owner": "\ud83d"},
        {"hooks": ["\x00"]},
        {"channels": ["\ud83d"]},
        {"guardrails": {"\x00": []}},
        {"\ud83d": 1},
    )
    for fields in hostile:
        assert put(admin, "disk", **fields).status in {200, 201, 400}, fields
    assert put(admin, "disk", instructions="a\x00b").data["instructions"] == "a\ufffdb"


def test_a_version_that_is_not_the_expected_one_is_a_conflict(admin: Api) -> None:
    assert put(admin, "disk", expected_version=1).data["code"] == "agent.version_moved"
    assert not Agent.objects.exists()
    assert put(admin, "disk", expected_version=0).status == 201
    assert put(admin, "disk", expected_version=0, max_steps=3).status == 409
    assert put(admin, "disk", expected_version=1, max_steps=3).data["version"] == 2
    stale = put(admin, "disk", expected_version=1, max_steps=4)
    assert (stale.status, stale.data["code"]) == (409, "agent.version_moved")
    assert stale.data["detail"] == "agent disk is at version 2; 1 was expected"
    assert AgentVersion.objects.count() == 2


def test_agents_are_listed_page_by_page_and_by_state(admin: Api) -> None:
    for key in ("a", "b", "c"):
        put(admin, key, is_enabled=key != "b")
    admin.post("/api/agents/c/contain", {"reason": "odd"})

    def keys(query: str) -> list[str]:
        return [it["key"] for it in admin.get(f"/api/agents?{query}").data["agents"]]

    assert keys("") == ["a", "b", "c"]
    assert keys("contained=true") == ["c"]
    assert keys("enabled=true&contained=false") == ["a"]
    page = admin.get("/api/agents?limit=2&enabled=true").data
    assert [it["key"] for it in page["agents"]] == ["a", "c"]
    assert page["next"] is None
    first = admin.get("/api/agents?limit=2").data
    assert [it["key"] for it in admin.get(first["next"]).data["agents"]] == ["c"]
    for query in ("contained=maybe", "state=x", "limit=0", "cursor=zz"):
        assert admin.get(f"/api/agents?{query}").status == 400


def test_containing_and_releasing_say_who_and_why(admin: Api) -> None:
    put(admin, "disk")
    contained = admin.post("/api/agents/disk/contain", {"reason": "deletes too much"})
    assert (contained.status, contained.data["contained_by"]) == (200, "anna")
    assert contained.data["contained_reason"] == "deletes too much"
    assert admin.post("/api/agents/disk/contain", {"reason": "again"}).status == 409
    assert admin.post("/api/agents/disk/contain", {}).status == 400
    assert admin.post("/api/agents/disk/release", {}).data["is_contained"] is False
    assert admin.post("/api/agents/disk/release", {}).status == 409
    assert admin.post("/api/agents/none/release", {}).status == 404


def test_saving_and_containing_want_permissions_of_their_own(
    operator: Api, agent: Agent, fresh_db: FreshDatabase
) -> None:
    assert put(operator, "triage").status == 403
    assert operator.post("/api/agents/triage/contain", {"reason": "r"}).status == 403
    changer = api_of(make_user("carl", "agents.change_agent"))
    refused = put(changer, "new")
    assert (refused.status, refused.data["code"]) == (403, "permission.denied")
    assert "agents.add_agent" in refused.data["detail"]
    assert put(changer, "triage").status == 200


def test_a_start_by_a_way_that_the_agent_does_not_permit_is_refused(
    operator: Api, agent: Agent
) -> None:
    Agent.objects.update(channels=["cli", "cron"])
    refused = operator.post("/api/agents/triage/runs", {"task": "t"})
    assert (refused.status, refused.data["code"]) == (403, "agent.channel_closed")
    assert refused.data["detail"] == "agent triage permits runs by cli, cron, not by api"
    assert not Run.objects.exists()
    Agent.objects.update(channels=["api"])
    assert operator.post("/api/agents/triage/runs", {"task": "t"}).status == 202
