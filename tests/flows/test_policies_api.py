"""Policies, data policies and trials over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from events.models import RunEvent
from liyagent.agents.models import Agent, ConfigVersion
from liyagent.audit.models import AuditRow
from liyagent.gateway.models import DataPolicy, Policy, Tool, ToolServer
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user

READS = '@id("reads")\npermit (principal, action, resource) when { context.effect == "read" };\n'
ALL = '@id("all")\npermit (principal, action, resource);\n'
FORBIDS = (
    ALL
    + '@id("no-prod")\nforbid (principal, action, resource) when { context.args has env && context.args.env == "prod" };\n'
)
MAIL = "kim@example.com"
TRY = "/api/policies/try"


@pytest.fixture
def keeper(fresh_db: FreshDatabase) -> Api:
    """One who keeps policies."""
    names = (
        f"gateway.{verb}_{noun}"
        for verb in ("view", "add", "change", "delete")
        for noun in ("policy", "datapolicy")
    )
    return api_of(make_user("paul", *names))


@pytest.fixture
def viewer(fresh_db: FreshDatabase) -> Api:
    """One who sees them."""
    return api_of(make_user("vera", "gateway.view_policy", "gateway.view_datapolicy"))


@pytest.fixture
def tool(agent: Agent) -> Tool:
    """A write that the agent may use."""
    Agent.objects.update(tool_patterns=["jira/*"], write_posture="allow")
    server = ToolServer.objects.create(key="jira", transport="local")
    return Tool.objects.create(server=server, name="create_issue", schema={"type": "object"})


def add(api: Api, text: str, name: str = "house", **more: Any) -> Any:
    """Add a version."""
    answer = api.post(f"/api/policies/{name}/versions", {"text": text, **more})
    assert answer.status == 201, answer.data
    return answer.data


def test_versions_are_added_activated_and_listed_with_who_when_and_why(keeper: Api) -> None:
    first = add(keeper, READS, note="to begin with", activate=True)
    assert (first["version"], first["is_active"], first["created_by"]) == (1, True, "paul")
    second = add(keeper, ALL, note="after the trial")
    assert (second["version"], second["is_active"], second["text"]) == (2, False, ALL)
    listed = keeper.get("/api/policies/house/versions").data
    assert [(it["version"], it["is_active"], it["note"]) for it in listed["versions"]] == [
        (2, False, "after the trial"),
        (1, True, "to begin with"),
    ]
    assert "text" not in listed["versions"][0]
    assert keeper.post("/api/policies/house/versions/2/activate", {}).data["is_active"] is True
    assert keeper.get("/api/policies").data["policies"] == [
        {"name": "house", "newest_version": 2, "active_version": 2}
    ]
    assert keeper.get("/api/policies/house/versions/1").data["text"] == READS
    told = AuditRow.objects.filter(action__startswith="policy.").order_by("id")
    assert [(it.action, it.actor, it.detail["version"]) for it in told] == [
        ("policy.added", "paul", 1),
        ("policy.activated", "paul", 1),
        ("policy.added", "paul", 2),
        ("policy.activated", "paul", 2),
    ]
    assert told[3].detail["before"] == "house v1"


def test_lists_are_paged(keeper: Api) -> None:
    for number in range(3):
        add(keeper, f"{ALL}// {number}\n")
        add(keeper, ALL, name=f"set {number}")
    page = keeper.get("/api/policies/house/versions?limit=2").data
    assert [it["version"] for it in page["versions"]] == [3, 2]
    assert [it["version"] for it in keeper.get(page["next"]).data["versions"]] == [1]
    page = keeper.get("/api/policies?limit=3").data
    assert [it["name"] for it in page["policies"]] == ["house", "set 0", "set 1"]
    last = keeper.get(page["next"]).data
    assert ([it["name"] for it in last["policies"]], last["next"]) == (["set 2"], None)


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("house/versions", {"text": f'{ALL}@id("x") permit(principal'}, 400, "policy at line 3"),
        ("house/versions", {"text": ""}, 400, "text"),
        ("house/versions", {"text": "// none"}, 400, "there is no policy in the text"),
        ("house/versions", {"txt": ALL}, 400, "unknown field"),
        ("house/versions", {"text": ALL, "note": "x" * 501}, 400, "note"),
        ("house/versions", {"text": 7}, 400, "text"),
        (f"{'x' * 201}/versions", {"text": ALL}, 400, "1 to 200 characters"),
        ("house/versions/9/activate", {}, 404, "there is no policy set of that name"),
        ("house/versions/99999999999999999999/activate", {}, 404, "no version"),
    ],
)
def test_a_version_that_cannot_be_is_refused_with_the_reason(
    keeper: Api, path: str, body: Any, status: int, said: str
) -> None:
    answer = keeper.post(f"/api/policies/{path}", body)
    assert (answer.status, said in answer.data["detail"]) == (status, True), answer.data
    assert not Policy.objects.exists()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/policies/ghost/versions", 404),
        ("/api/policies/ghost/versions/1", 404),
        ("/api/policies?limit=0", 400),
        ("/api/policies?name=x", 400),
        ("/api/policies?cursor=x", 400),
        ("/api/data-policies/ghost", 404),
        ("/api/data-policies?cursor=WzFd", 400),
    ],
)
def test_what_is_not_there_or_cannot_be_asked_is_refused(
    keeper: Api, path: str, status: int
) -> None:
    assert keeper.get(path).status == status


def test_each_address_wants_its_permission(viewer: Api, stranger: Api) -> None:
    assert stranger.get("/api/policies").status == 403
    assert stranger.post(TRY, {}).status == 403
    assert viewer.get("/api/policies").status == 200
    assert viewer.post("/api/policies/house/versions", {"text": ALL}).status == 403
    assert viewer.post("/api/policies/house/versions/1/activate", {}).status == 403
    assert viewer.send("PUT", "/api/data-policies/x", {"kind": "card"}).status == 403
    assert viewer.send("DELETE", "/api/data-policies/x").status == 403
    adder = api_of(make_user("adam", "gateway.add_policy"))
    answer = adder.post("/api/policies/house/versions", {"text": ALL, "activate": True})
    assert (answer.status, answer.data["detail"]) == (
        403,
        "to activate needs the permission gateway.change_policy",
    )


def asked(tool: Tool, /, **changes: Any) -> dict[str, Any]:
    """A trial of the tool."""
    return {"agent": "triage", "tool": str(tool), "args": {"env": "test"}, **changes}


def test_a_trial_tells_the_verdict_each_gate_and_who_decided(keeper: Api, tool: Tool) -> None:
    add(keeper, FORBIDS, activate=True)
    answer = keeper.post(TRY, asked(tool)).data
    assert (answer["posture"], answer["gate"], answer["policies"]) == ("posture", "", ["all"])
    assert [it["gate"] for it in answer["gates"]] == [
        "trust",
        "allow_list",
        "delegation",
        "cedar",
        "run_as",
        "data_policy",
        "contract_change",
        "write_posture",
    ]
    refused = keeper.post(TRY, asked(tool, args={"env": "prod"})).data
    assert (refused["posture"], refused["gate"], refused["policies"]) == (
        "refused",
        "cedar",
        ["no-prod"],
    )
    assert "no-prod forbids" in refused["reason"]
    Agent.objects.update(write_posture="hold")
    held = keeper.post(TRY, asked(tool)).data
    assert (held["posture"], held["gate"]) == ("held", "write_posture")
    assert {it["gate"]: it["posture"] for it in held["gates"]}["write_posture"] == "held"


def test_a_draft_is_tried_in_place_of_what_is_in_force(keeper: Api, tool: Tool) -> None:
    assert keeper.post(TRY, asked(tool)).data["gate"] == "cedar"
    assert keeper.post(TRY, asked(tool, policy=ALL)).data["posture"] == "posture"
    answer = keeper.post(TRY, asked(tool, policy=f"{ALL}\nnonsense;"))
    assert (answer.status, "policy at line 4" in answer.data["detail"]) == (400, True)
    assert not Policy.objects.exists()


def test_a_trial_keeps_sends_and_audits_nothing(keeper: Api, tool: Tool) -> None:
    keeper.send("PUT", "/api/data-policies/mail", {"kind": "email", "action": "mask"})
    before = (
        AuditRow.objects.count(),
        RunEvent.objects.count(),
        ConfigVersion.objects.get().version,
    )
    answer = keeper.post(TRY, asked(tool, args={"to": MAIL}, policy=ALL)).data
    assert answer["args"] == {"to": "[email]"}
    assert before == (
        AuditRow.objects.count(),
        RunEvent.objects.count(),
        ConfigVersion.objects.get().version,
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM runs_call")
        assert cursor.fetchone() == (0,)


def test_a_trial_uses_the_rights_of_who_would_have_started_it(keeper: Api, tool: Tool) -> None:
    Tool.objects.update(permission="jira.write")
    own = keeper.post(TRY, asked(tool, policy=ALL)).data
    assert (own["gate"], "paul" in own["reason"]) == ("run_as", True)
    assert keeper.post(TRY, asked(tool, policy=ALL, started_by="")).data["gate"] == "run_as"
    assert keeper.post(TRY, asked(tool, policy=ALL, started_by="kim")).status == 403
    boss = api_of(make_user("boss", "gateway.view_policy", "auth.view_user"))
    told = boss.post(TRY, asked(tool, policy=ALL, started_by="kim")).data
    assert "kim, whose rights this run uses, is no active user" in told["reason"]


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"agent": "ghost"}, 404, "there is no agent 'ghost'"),
        ({"tool": "jira/ghost"}, 404, "there is no tool 'jira/ghost'"),
        ({"tool": "ghost"}, 404, "it wants server/tool"),
        ({"args": []}, 400, "args"),
        ({"args": "x"}, 400, "args"),
        ({"argz": {}}, 400, "unknown field"),
        ({"tool": None}, 400, "tool"),
    ],
)
def test_a_trial_that_cannot_be_made_is_refused(
    keeper: Api, tool: Tool, changes: Any, status: int, said: str
) -> None:
    answer = keeper.post(TRY, asked(tool, **changes))
    assert (answer.status, said in answer.data["detail"]) == (status, True), answer.data


def test_a_tool_outside_the_allow_list_is_told_so(keeper: Api, tool: Tool) -> None:
    Agent.objects.update(tool_patterns=["git/*"])
    assert keeper.post(TRY, asked(tool, policy=ALL)).data["gate"] == "allow_list"


def test_a_data_policy_is_saved_shown_and_removed(keeper: Api) -> None:
    path = "/api/data-policies/no-cards"
    made = keeper.send("PUT", path, {"kind": "card"})
    assert (made.status, made.data["action"], made.data["path"], made.data["enabled"]) == (
        201,
        "deny",
        "*",
        True,
    )
    again = keeper.send("PUT", path, {"kind": "card", "action": "mask", "enabled": False})
    assert (again.status, again.data["action"], again.data["enabled"]) == (200, "mask", False)
    assert keeper.get(path).data == again.data
    assert [it["name"] for it in keeper.get("/api/data-policies").data["data_policies"]] == [
        "no-cards"
    ]
    assert keeper.send("DELETE", path).status == 204
    assert keeper.send("DELETE", path).status == 404
    actions = AuditRow.objects.filter(action__startswith="data_policy.").order_by("id")
    assert [(it.action, it.actor) for it in actions] == [
        ("data_policy.saved", "paul"),
        ("data_policy.saved", "paul"),
        ("data_policy.removed", "paul"),
    ]


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("x", {"kind": "ssn"}, "kind"),
        ("x", {}, "kind"),
        ("x", {"kind": "card", "path": "a..b"}, "path is 'a..b'; it wants a dotted path"),
        ("x", {"kind": "card", "regex": "x"}, "regex goes with the kind regex alone"),
        ("x", {"kind": "regex"}, "regex is wanted"),
        ("x", {"kind": "regex", "regex": "("}, "is no regular expression"),
        ("x", {"kind": "regex", "regex": "(a)\\1"}, "a reference to a group"),
        ("x", {"kind": "card", "tools": "jira"}, "it wants server/tool"),
        ("x", {"kind": "card", "action": "hide"}, "action"),
        ("x", {"kind": "card", "enabled": "perhaps"}, "enabled"),
        ("x", {"kind": "card", "colour": 1}, "unknown field"),
        ("a b", {"kind": "card"}, "name is 'a b'"),
    ],
)
def test_a_data_policy_that_cannot_be_is_refused_with_the_field(
    keeper: Api, name: str, body: Any, said: str
) -> None:
    answer = keeper.send("PUT", f"/api/data-policies/{name}", body)
    assert (answer.status, said in answer.data["detail"]) == (400, True), answer.data
    assert not DataPolicy.objects.exists()
