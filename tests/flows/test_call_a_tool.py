"""`POST /api/tools/{server}/{tool}/call`: one call by hand, told and never repeated (CR-30)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from liyagent.access.keys import create_key
from liyagent.agents.containment import contain_all
from liyagent.agents.definitions import save_agent
from liyagent.agents.models import ConfigVersion
from liyagent.audit.models import AuditRow
from liyagent.core.clock import boottime
from liyagent.entry.inspector.scope import AdHocScope
from liyagent.gateway.active import active_policy, forget_policies
from liyagent.gateway.contracts import forget_contracts
from liyagent.gateway.judge import judge
from liyagent.gateway.local import LOCAL_TOOLS, ToolFailed, local_tool
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.outcome import Fate, Outcome, Payload, Posture, Verdict
from liyagent.gateway.policy_versions import load_policy
from liyagent.gateway.run_as import forget_rights
from tests.databases import FreshDatabase
from tests.flows.conftest import OPERATOR, Api, api_of, make_user
from tests.unit.gateway.support import a_call, a_payload

SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "at": {"properties": {"x": {"type": "integer"}}}},
    "required": ["title"],
}
PERMIT = '@id("all") permit(principal, action, resource);'
WRITE = "/api/tools/jira/create_issue/call"
READ = "/api/tools/jira/get_issue/call"
BODY = {"args": {"title": "disk full"}}


@pytest.fixture
def sent(fresh_db: FreshDatabase) -> Iterator[list[Payload]]:
    """A server `jira` in this process with a write and a read; what they were sent."""
    for forget in (forget_contracts, forget_policies, forget_rights):
        forget()
    load_policy(PERMIT, name="all", actor="test")
    server = ToolServer.objects.create(key="jira", transport="local")
    for name, effect in (("create_issue", "write"), ("get_issue", "read")):
        Tool.objects.create(server=server, name=name, effect=effect, schema=SCHEMA)
    received: list[Payload] = []

    def answer(call: Payload) -> dict[str, str]:
        received.append(call)
        return {"id": "OPS-1"}

    register("create_issue", answer)
    register("get_issue", answer)
    yield received
    for name in ("create_issue", "get_issue"):
        LOCAL_TOOLS.pop(f"jira/{name}", None)


@pytest.fixture
def caller(fresh_db: FreshDatabase) -> Api:
    """One who operates agents and may call tools by hand."""
    return api_of(make_user("cora", *OPERATOR, "gateway.call_tool"))


def register(name: str, work: Callable[[Payload], Any]) -> None:
    LOCAL_TOOLS.pop(f"jira/{name}", None)
    local_tool(f"jira/{name}")(work)


def audited() -> list[dict[str, Any]]:
    rows = AuditRow.objects.filter(action="tool.adhoc_call").order_by("id")
    return [{**row.detail, "actor": row.actor, "mission": row.mission} for row in rows]


@pytest.mark.promise("CR-30")
def test_a_write_is_sent_once_with_a_fresh_key_each_time(caller: Api, sent: list[Payload]) -> None:
    first, second = caller.post(WRITE, BODY), caller.post(WRITE, BODY)
    assert (first.status, second.status) == (200, 200)
    assert first.data["fate"] == "done"
    assert first.data["result"] == {"id": "OPS-1"}
    assert first.data["key"] != second.data["key"]
    assert [it.key for it in sent] == [first.data["key"], second.data["key"]]


def test_a_write_is_in_the_audit_log_before_it_leaves_and_after(
    caller: Api, sent: list[Payload]
) -> None:
    seen: list[list[str]] = []
    register("create_issue", lambda _: seen.append([it["phase"] for it in audited()]))
    answer = caller.post(WRITE, BODY, x_liyagent_mission="INC-7")
    assert seen == [["sending"]]
    rows = audited()
    assert [it["phase"] for it in rows] == ["sending", "settled"]
    assert rows[1]["fate"] == "done"
    assert {it["key"] for it in rows} == {answer.data["key"]}
    assert {(it["actor"], it["mission"], it["call"], it["agent"]) for it in rows} == {
        ("cora", "INC-7", "jira/create_issue", "inspector")
    }
    assert "disk full" not in str(rows)


def test_an_unknown_outcome_is_told_as_unknown_with_the_key_and_never_sent_again(
    caller: Api, sent: list[Payload]
) -> None:
    keys: list[str] = []

    def break_down(call: Payload) -> None:
        keys.append(call.key)
        raise OSError("the line is dead")

    register("create_issue", break_down)
    answer = caller.post(WRITE, BODY)
    assert answer.status == 200
    assert answer.data["fate"] == "unknown"
    assert keys == [answer.data["key"]]
    assert audited()[-1]["fate"] == "unknown"


def test_a_failure_in_the_tools_own_words_is_a_failure(caller: Api, sent: list[Payload]) -> None:
    def refuse(_call: Payload) -> None:
        raise ToolFailed("no such project")

    register("create_issue", refuse)
    answer = caller.post(WRITE, BODY)
    assert (answer.status, answer.data["fate"]) == (200, "failed")
    assert "no such project" in answer.data["error"]


def test_a_write_whose_end_cannot_be_stored_is_told_all_the_same(
    caller: Api, sent: list[Payload]
) -> None:
    def rename(before: str, after: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {before} RENAME TO {after}")

    register("create_issue", lambda _: rename("audit_auditrow", "away"))
    answer = caller.post(WRITE, BODY)
    rename("away", "audit_auditrow")
    assert (answer.status, answer.data["fate"]) == (200, "done")
    assert [(it["phase"], it["key"]) for it in audited()] == [("sending", answer.data["key"])]


def test_a_write_needs_a_permission_more_than_a_read(sent: list[Payload]) -> None:
    looker = api_of(make_user("lou", "gateway.call_tool"))
    assert looker.post(READ, BODY).status == 200
    refused = looker.post(WRITE, BODY)
    assert (refused.status, refused.data["code"]) == (403, "permission.denied")
    assert api_of(make_user("olga", *OPERATOR)).post(READ, BODY).status == 403
    assert [it.tool for it in sent] == ["get_issue"]


def test_a_key_narrowed_to_calling_cannot_write(sent: list[Payload]) -> None:
    user = make_user("cora", *OPERATOR, "gateway.call_tool")
    key = create_key(name="n", username=user.username, scopes=["gateway.call_tool"])
    assert Api(token=key.token).post(WRITE, BODY).status == 403
    assert Api(token=key.token).post(READ, BODY).status == 200


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ('@id("f") forbid(principal == Agent::"inspector", action, resource);', "cedar"),
        (
            '@id("f") forbid(principal, action, resource) when {context.entry == "inspector"};',
            "cedar",
        ),
        ('@id("f") forbid(principal, action, resource) when {context.run_as == "cora"};', "cedar"),
    ],
)
def test_policies_judge_it_and_the_refusal_names_the_gate(
    caller: Api, sent: list[Payload], text: str, gate: str
) -> None:
    load_policy(f"{PERMIT}\n{text}", name="all", actor="test")
    answer = caller.post(WRITE, BODY)
    assert (answer.status, answer.data["code"]) == (403, "tool.refused")
    assert answer.data["facts"]["gate"] == gate
    assert sent == []
    assert [(it["fate"], it["gate"]) for it in audited()] == [("refused", gate)]


def test_nothing_is_called_while_everything_is_contained(caller: Api, sent: list[Payload]) -> None:
    contain_all(actor="test", reason="an incident")
    assert caller.post(READ, BODY).data["facts"]["gate"] == "trust"
    assert sent == []


@pytest.mark.parametrize(
    ("changes", "gate"),
    [
        ({"tool_patterns": ["slack/*"]}, "allow_list"),
        ({"write_posture": "refuse"}, "write_posture"),
        ({"write_posture": "hold"}, "write_posture"),
        ({"channels": ["api"]}, "channel"),
    ],
)
def test_as_an_agent_that_agents_limits_hold(
    caller: Api, sent: list[Payload], changes: dict[str, Any], gate: str
) -> None:
    definition = {
        "key": "triage",
        "name": "Triage",
        "provider": "scripted",
        "model": "triage-keyed",
        "tool_patterns": ["jira/*"],
        "write_posture": "allow",
    }
    save_agent(definition, actor="test")
    assert caller.post(WRITE, {**BODY, "agent": "triage"}).data["fate"] == "done"
    save_agent({**definition, **changes}, actor="test")
    refused = caller.post(WRITE, {**BODY, "agent": "triage"})
    assert (refused.status, refused.data["facts"]["gate"]) == (403, gate)
    assert len(sent) == 1


def test_what_is_not_there_is_404(caller: Api, sent: list[Payload]) -> None:
    assert caller.post("/api/tools/jira/nothing/call", BODY).data["code"] == "tool.unknown"
    assert caller.post("/api/tools/slack/post/call", BODY).status == 404
    assert caller.post(READ, {**BODY, "agent": "nobody"}).status == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"args": {}}, "args"),
        ({"args": {"title": 7}}, "args.title"),
        ({"args": {"title": "x", "at": {"x": "y"}}}, "args.at.x"),
        ({"args": []}, "args"),
        ({}, "args"),
        ({"args": {"title": "x"}, "agent": 7}, "agent"),
        ({"args": {"title": "x"}, "as": "triage"}, "as"),
    ],
)
def test_arguments_that_misfit_are_refused_by_path(
    caller: Api, sent: list[Payload], body: dict[str, Any], field: str
) -> None:
    answer = caller.post(WRITE, body)
    assert answer.status == 400
    assert [it["field"] for it in answer.data["errors"]] == [field]
    assert sent == []


def about_to_send() -> tuple[AdHocScope, Verdict]:
    """A call that every gate let through, before it is marked."""
    load_policy(PERMIT, name="all", actor="test")
    version = ConfigVersion.objects.get().version
    verdict = judge(a_call(), active_policy(version=version))
    assert verdict.posture is Posture.POSTURE
    return AdHocScope(actor="cora", mission="m", request_id="r", version=version), verdict


def test_once_marked_it_may_leave_for_a_lease_and_no_longer(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope, verdict = about_to_send()
    may_send = scope.mark_sending(verdict, a_payload())
    assert not isinstance(may_send, Outcome)
    assert may_send()
    later = boottime() + settings.LIYAGENT.lease_seconds
    monkeypatch.setattr("liyagent.entry.inspector.scope.boottime", lambda: later)
    assert not may_send()


def test_what_is_forbidden_while_it_is_marked_is_not_sent(fresh_db: FreshDatabase) -> None:
    scope, verdict = about_to_send()
    forbid = '@id("f") forbid(principal, action, resource);'
    load_policy(f"{PERMIT}\n{forbid}", name="all", actor="test")
    told = scope.mark_sending(verdict, a_payload())
    assert isinstance(told, Outcome)
    assert told.fate is Fate.REFUSED
    assert scope.verdict is not None
    assert scope.verdict.gate == "cedar"
