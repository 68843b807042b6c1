"""Workflows over HTTP: read, saved, validated, and refused with the path of each thing that is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models.functions import Now

from liyagent.audit.models import AuditRow
from liyagent.workflows.models import Workflow, WorkflowVersion
from liyagent.workflows.shape import published_schema
from runs.models import ENDED, Run
from runs.start import start_run
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user
from tests.unit.workflows.desk import DEFINITION, definition, furnish

VIEW, ADD, CHANGE, DELETE = (
    f"workflows.{it}_workflow" for it in ("view", "add", "change", "delete")
)
BODY: dict[str, Any] = {"name": "Outage", "agent": "desk", "definition": DEFINITION}
AT = "/api/workflows"


@pytest.fixture
def anna(fresh_db: FreshDatabase) -> Api:
    """One who may see and save workflows."""
    furnish()
    return api_of(make_user("anna", VIEW, ADD, CHANGE, DELETE))


def test_a_workflow_is_created_replaced_and_kept_version_by_version(anna: Api) -> None:
    created = anna.post(AT, {**BODY, "key": "outage"})
    assert created.status == 201, created.data
    assert (created.data["version"], created.data["agent"]) == (1, "desk")
    assert created.data["definition"] == DEFINITION
    assert anna.post(AT, {**BODY, "key": "outage"}).data["code"] == "workflows.taken"
    same = anna.send("PUT", f"{AT}/outage", BODY)
    assert (same.status, same.data["version"]) == (200, 1)
    changed = {**BODY, "definition": definition(retry={"times": 2}), "expected_version": 1}
    assert anna.send("PUT", f"{AT}/outage", changed).data["version"] == 2
    stale = anna.send("PUT", f"{AT}/outage", {**changed, "name": "x"})
    assert (stale.status, stale.data["code"]) == (409, "workflows.version_moved")
    assert anna.send("PUT", f"{AT}/second", BODY).status == 201
    assert anna.get(f"{AT}/outage").data["definition"]["steps"][0]["retry"] == {"times": 2}
    listed = anna.get(f"{AT}/outage/versions?limit=1").data
    assert [(it["number"], "definition" in it) for it in listed["versions"]] == [(2, False)]
    assert [it["number"] for it in anna.get(listed["next"]).data["versions"]] == [1]
    first = anna.get(f"{AT}/outage/versions/1").data
    assert (first["workflow"], first["agent"], first["created_by"]) == ("outage", "desk", "anna")
    assert first["definition"] == DEFINITION
    for number in (3, 10**30):
        assert (
            anna.get(f"{AT}/outage/versions/{number}").data["code"] == "workflows.version_unknown"
        )


def test_workflows_are_listed_page_by_page_without_their_definitions(anna: Api) -> None:
    for key in ("a", "b", "c"):
        anna.send("PUT", f"{AT}/{key}", {**BODY, "is_enabled": key != "b"})
    page = anna.get(f"{AT}?limit=2").data
    assert [(it["key"], "definition" in it) for it in page["workflows"]] == [("a", False), ("b", False)]  # fmt: skip
    assert [it["key"] for it in anna.get(page["next"]).data["workflows"]] == ["c"]
    for query, keys in (("enabled=false", ["b"]), ("agent=scout", []), ("agent=desk&enabled=true", ["a", "c"])):  # fmt: skip
        assert [it["key"] for it in anna.get(f"{AT}?{query}").data["workflows"]] == keys
    for query in ("enabled=1", "key=a", "cursor=x", "limit=0"):
        assert anna.get(f"{AT}?{query}").status == 400, query


def test_a_definition_that_is_wrong_is_refused_with_each_path(anna: Api) -> None:
    wrong = {
        **BODY,
        "definition": definition(
            retry={"times": 11}, on_error="nowhere", fallback="{{ steps.x.output }}"
        ),
    }
    refused = anna.send("PUT", f"{AT}/outage", wrong)
    assert (refused.status, refused.data["code"]) == (400, "workflows.definition_wrong")
    assert [it["field"] for it in refused.data["errors"]] == ["$.steps[0].retry.times"]
    wrong["definition"] = definition(on_error="nowhere", fallback="{{ steps.x.output }}")
    refused = anna.send("PUT", f"{AT}/outage", wrong)
    assert [it["field"] for it in refused.data["errors"]] == ["$.steps[0].on_error", "$.steps[0].fallback"]  # fmt: skip
    wrong["definition"] = definition(tool="crate")
    ((error),) = anna.send("PUT", f"{AT}/outage", wrong).data["errors"]
    assert error["field"] == "$.steps[0].tool"
    assert not Workflow.objects.exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"[]", "the body wants an object"),
        (b"{}", "name: is missing; agent: is missing; definition: is missing"),
        (b'{"key": "other"}', "is not the 'outage' of the address"),
        (b'{"expected_version": "1"}', "expected_version: wants a whole number"),
        (b'{"definition": {"steps": [{"id": "\\u0000"}]}}', "$.steps[0].id"),
        (b'{"\\ud83d": 1, "name": "\\u0000"}', "is not known here"),
    ],
)
def test_a_body_that_is_no_workflow_is_refused(anna: Api, body: bytes, said: str) -> None:
    answer = anna.send("PUT", f"{AT}/outage", body)
    assert answer.status == 400
    assert said in str(answer.data)


def test_a_definition_is_validated_without_being_saved(anna: Api) -> None:
    asked = f"{AT}/validate"
    assert anna.post(asked, {"definition": DEFINITION, "agent": "desk"}).data == {"valid": True, "problems": []}  # fmt: skip
    many = {"steps": [{"id": "a", "type": "shell"}] * 30}
    answer = anna.post(asked, {"definition": many}).data
    assert (answer["valid"], len(answer["problems"])) == (False, 30)
    assert answer["problems"][29]["path"] == "$.steps[29].type"
    lone = anna.post(asked, {"definition": definition(tool="x")}).data
    assert lone["valid"]
    bound = anna.post(asked, {"definition": definition(tool="x"), "agent": "desk"}).data
    assert [it["path"] for it in bound["problems"]] == ["$.steps[0].tool"]
    nobody = anna.post(asked, {"definition": DEFINITION, "agent": "nobody"}).data
    assert [it["path"] for it in nobody["problems"]] == ["agent"]
    assert anna.post(asked, {"agent": "desk"}).status == 400
    assert anna.post(asked, {"definition": None}).data["problems"][0]["path"] == "$"
    assert not Workflow.objects.exists()


def a_run_of(workflow: str, *, status: str) -> Run:
    ended = Now() if status in ENDED else None
    started = start_run(
        agent_key="desk", task="x", entry="api", started_by="ann", mission="", request_id=""
    )
    Run.objects.filter(id=started.run_id).update(workflow=workflow, status=status, ended_at=ended)
    return Run.objects.get(id=started.run_id)


def test_a_workflow_is_removed_once_its_runs_have_ended(anna: Api) -> None:
    for key in ("outage", "other"):
        anna.send("PUT", f"{AT}/{key}", BODY)
    going = a_run_of("outage", status="waiting")
    refused = anna.send("DELETE", f"{AT}/outage")
    assert (refused.status, refused.data["code"]) == (409, "workflows.runs_go_on")
    assert str(going.id) in refused.data["detail"]
    assert anna.send("DELETE", f"{AT}/other").status == 204
    Run.objects.update(status="answered", ended_at=Now())
    assert anna.send("DELETE", f"{AT}/outage").status == 204
    assert anna.send("DELETE", f"{AT}/outage").data["code"] == "workflows.not_found"
    assert not Workflow.objects.exists()
    assert not WorkflowVersion.objects.exists()
    row = AuditRow.objects.filter(action="workflow.removed").order_by("-id")[0]
    assert (row.actor, row.agent, row.detail["was"]["name"]) == ("anna", "desk", "Outage")


def test_the_schema_is_published(anna: Api) -> None:
    assert anna.get(f"{AT}/schema").data == published_schema()


def test_each_verb_wants_its_permission(anna: Api) -> None:
    anna.send("PUT", f"{AT}/outage", BODY)
    viewer, stranger = api_of(make_user("vera", VIEW)), api_of(make_user("stan"))
    changer = api_of(make_user("carl", CHANGE))
    for path in ("", "/outage", "/outage/versions", "/outage/versions/1", "/schema"):
        assert viewer.get(AT + path).status == 200
        assert stranger.get(AT + path).status == 403
    assert viewer.post(f"{AT}/validate", {"definition": {}}).status == 200
    assert stranger.post(f"{AT}/validate", {"definition": {}}).status == 403
    for method, path in (("POST", ""), ("PUT", "/outage"), ("DELETE", "/outage")):
        assert viewer.send(method, AT + path, BODY).status == 403
    assert changer.send("PUT", f"{AT}/outage", BODY).status == 200
    assert changer.send("PUT", f"{AT}/new", BODY).status == 403
    assert anna.get(f"{AT}/gone").data["code"] == "workflows.not_found"
    assert WorkflowVersion.objects.count() == 1
