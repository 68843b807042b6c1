"""`/api/agents/{key}/compensations` and the agent's page: whoever sets the map is told each problem where it stands."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from liyagent.agents.definitions import save_agent
from liyagent.agents.models import Agent, AgentVersion
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user
from tests.flows.test_console import AGENT_FORM
from tests.unit.agents.undoing import AGENT, MAP, UNDO, a_catalogue

AT = "/api/agents/triage/compensations"


@pytest.fixture(autouse=True)
def agent(fresh_db: FreshDatabase) -> Agent:
    a_catalogue()
    return save_agent(AGENT, actor="ada")


@pytest.fixture
def admin() -> Api:
    return api_of(make_user("anna", "agents.view_agent", "agents.change_agent"))


def put(api: Api, **body: Any) -> Any:
    return api.send("PUT", AT, body)


@pytest.mark.promise("SG-02")
def test_the_map_is_set_shown_and_taken_away(admin: Api) -> None:
    assert admin.get(AT).data == {"agent": "triage", "version": 1, "compensations": {}}
    answer = put(admin, compensations=MAP)
    assert (answer.status, answer.data) == (200, {"agent": "triage", "version": 2, "compensations": MAP})  # fmt: skip
    assert admin.get(AT).data == answer.data
    assert admin.get("/api/agents/triage").data["compensations"] == MAP
    assert put(admin, compensations={}, expected_version=2).data["version"] == 3
    assert put(admin, compensations=MAP, expected_version=2).data["code"] == "agent.version_moved"
    assert AgentVersion.objects.get(number=3).created_by == "anna"


@pytest.mark.promise("SG-02")
def test_a_map_that_is_wrong_is_a_problem_with_the_path_of_each_and_nothing_is_written(
    admin: Api,
) -> None:
    wrong = {"jira/create_issue": {"tool": "delete_isue"}, "mail/send": {"tool": "unsend", "args": {"id": "{{ run.id }}"}}}  # fmt: skip
    answer = put(admin, compensations=wrong)
    assert (answer.status, answer.headers["Content-Type"]) == (400, "application/problem+json")
    assert answer.data["code"] == "agent.invalid"
    assert [it["field"] for it in answer.data["errors"]] == ['$.compensations["mail/send"].args.id']
    answer = put(admin, compensations={**MAP, "jira/creat_issue": UNDO})
    assert [it["field"] for it in answer.data["errors"]] == ['$.compensations["jira/creat_issue"]']
    assert "create_issue" in answer.data["errors"][0]["detail"]
    full = {it: AGENT[it] for it in ("name", "provider", "model")}
    answer = admin.send("PUT", "/api/agents/triage", {**full, "compensations": MAP})
    assert (answer.status, answer.data["errors"][0]["field"]) == (400, '$.compensations["jira/create_issue"]')  # fmt: skip
    assert (Agent.objects.get().version, Agent.objects.get().compensations) == (1, {})


@pytest.mark.parametrize(
    "body",
    [[], {}, {"jira/create_issue": UNDO}, {"compensations": None}, {"compensations": {}, "expected_version": "1"},
     {"compensations": {}, "expected_version": 0}, {"compensations": {}, "more": 1}],
)  # fmt: skip
def test_a_body_of_another_shape_is_refused(admin: Api, body: Any) -> None:
    assert admin.send("PUT", AT, body).status == 400
    assert Agent.objects.get().version == 1


def test_it_wants_the_rights_that_an_agent_wants_and_an_agent(admin: Api) -> None:
    reader = api_of(make_user("rita", "agents.view_agent"))
    assert (reader.get(AT).status, put(reader, compensations=MAP).status) == (200, 403)
    assert (api_of(make_user("nina")).get(AT).status, Api().get(AT).status) == (403, 401)
    nobody = "/api/agents/nobody/compensations"
    assert admin.get(nobody).data["code"] == "agent.unknown"
    assert admin.send("PUT", nobody, {"compensations": {}}).status == 404


def test_the_page_takes_the_map_tells_what_is_wrong_beside_it_and_suggests(agent: Agent) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    at = f"/admin/agents/agent/{agent.pk}/change/"
    page = unescape(client.get(at).content.decode())
    assert "How its own writes are undone when a run of it fails" in page
    assert f"Contracts of its tools suggest: {json.dumps(MAP)}" in page
    form = {**AGENT_FORM, "key": "triage", "tool_patterns": json.dumps(AGENT["tool_patterns"])}
    wrong = {"jira/create_issue": {**UNDO, "tool": "gone"}}
    page = unescape(client.post(at, {**form, "compensations": json.dumps(wrong)}).content.decode())
    assert '$.compensations["jira/create_issue"].tool is jira/gone: there is no such tool' in page
    assert Agent.objects.get().version == 1
    assert client.post(at, {**form, "compensations": json.dumps(MAP)}).status_code == 302
    assert Agent.objects.get().compensations == MAP
    page = unescape(client.get(at).content.decode())
    assert "Contracts of its tools suggest" not in page
    assert "compensations: {} → " in page


def test_the_shell_shows_the_map(admin: Api, capsys: pytest.CaptureFixture[str]) -> None:
    put(admin, compensations=MAP)
    call_command("agents", "show", "triage")
    shown = capsys.readouterr().out
    assert yaml.safe_load(shown)["agents"][0]["compensations"] == MAP
