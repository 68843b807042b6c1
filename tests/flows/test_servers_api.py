"""Servers and tools over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from liyagent.audit.models import AuditRow
from liyagent.gateway import mcp
from liyagent.gateway.models import Tool, ToolServer
from tests.databases import FreshDatabase
from tests.fakes.tool_server import ToolServer as FakeServer
from tests.flows.conftest import Api, api_of, make_user

OAUTH = {
    "token_url": "https://login.example.com/token",
    "client_id": "liyagent",
    "secret_env": "JIRA_SECRET",
    "scope": "tools",
}


@pytest.fixture
def keeper(fresh_db: FreshDatabase) -> Api:
    """One who keeps servers and tools."""
    servers = [f"gateway.{verb}_toolserver" for verb in ("view", "add", "change", "delete")]
    return api_of(make_user("paul", *servers, "gateway.view_tool", "gateway.change_tool"))


@pytest.fixture
def fake() -> Iterator[FakeServer]:
    """A server to read."""
    with FakeServer() as server:
        yield server
        mcp.close_all()


def declared(api: Api, key: str = "jira", **body: Any) -> Any:
    """Declare a server; what came back."""
    answer = api.send("PUT", f"/api/servers/{key}", body)
    assert answer.status in {200, 201}, answer.data
    return answer.data


def test_a_server_is_declared_as_in_yaml_and_shown_without_secrets(
    keeper: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JIRA_SECRET", "very-secret")
    body = {"transport": "http", "url": "https://tools.example.com/mcp", "oauth": OAUTH}
    tools = {"create_issue": {"key": {"place": "meta", "window": 60}}}
    answer = keeper.send("PUT", "/api/servers/jira", {**body, "vendor": "jira", "tools": tools})
    assert answer.status == 201
    assert answer.data["oauth"] == OAUTH
    assert "very-secret" not in str(answer.data)
    assert keeper.send("PUT", "/api/servers/jira", {"name": "Jira"}).status == 200
    shown = keeper.get("/api/servers/jira").data
    assert (shown["name"], shown["url"], shown["state"]) == ("Jira", body["url"], "enabled")
    assert shown["catalogue"].startswith("never read")
    assert Tool.objects.get().key_window_seconds == 60
    assert [it.actor for it in AuditRow.objects.filter(action="server.saved")] == ["paul", "paul"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"transport": "carrier"}, "transport"),
        ({"transport": "http", "url": "https://a.example/", "vendor": "acme"}, "vendor"),
        ({"transport": "http", "url": "http://10.0.0.1/mcp"}, "body"),
        ({"oauth": {"token_url": "ftp://a"}}, "oauth.client_id"),
        ({"tools": {"say": {"effect": "rread"}}}, "tools.say.effect"),
        ({"tools": {"say": {"reader": {}}}}, "tools.say.reader"),
        ({"transport": "stdio", "command": "rm -rf /"}, "command"),
        ({"wrong": 1}, "body"),
        ({"transport": "local", "url": "https://a.example/"}, "body"),
    ],
)
def test_a_slip_is_named_by_its_path_and_nothing_is_kept(
    keeper: Api, body: dict[str, Any], field: str
) -> None:
    answer = keeper.send("PUT", "/api/servers/jira", body)
    assert (answer.status, answer.data["code"]) == (400, "declaration.invalid")
    assert [it["field"] for it in answer.data["errors"]] == [field], answer.data
    assert not ToolServer.objects.exists()


def test_a_body_that_is_none_and_a_key_of_another_are_refused(keeper: Api) -> None:
    assert keeper.send("PUT", "/api/servers/jira", []).status == 400
    assert keeper.send("PUT", "/api/servers/jira", {"key": "other"}).status == 400


def test_a_catalogue_is_read_and_a_change_approved_by_its_fingerprint(
    keeper: Api, fake: FakeServer
) -> None:
    declared(keeper, transport="http", url=fake.url)
    synced = keeper.post("/api/servers/jira/sync", {}).data
    assert synced["offered"] == ["create_issue", "get_issue", "refuse", "say"]
    assert (synced["to_approve"], synced["gone"]) == ([], [])
    fake.descriptions["create_issue"] = "Create another"
    fake.restart()
    assert keeper.post("/api/servers/jira/sync", {}).data["to_approve"] == ["create_issue"]
    path = "/api/tools/jira/create_issue"
    shown = keeper.get(path).data
    assert (shown["is_approved"], shown["state"]) == (False, "offered, to approve")
    assert "-Create an issue\n+Create another" in shown["changes"]
    assert keeper.post(f"{path}/approve", {"fingerprint": "0" * 64}).status == 409
    assert keeper.post(f"{path}/approve", {}).data["errors"][0]["field"] == "fingerprint"
    done = keeper.post(f"{path}/approve", {"fingerprint": shown["fingerprint"]})
    assert (done.status, done.data["is_approved"], done.data["changes"]) == (200, True, "")
    assert AuditRow.objects.get(action="tool.approved").actor == "paul"


def test_a_server_that_cannot_be_read_is_a_conflict_and_keeps_its_reason(keeper: Api) -> None:
    declared(keeper, transport="http", url="http://127.0.0.1:1/mcp")
    answer = keeper.post("/api/servers/jira/sync", {})
    assert (answer.status, answer.data["code"]) == (409, "server.unreadable")
    assert keeper.get("/api/servers/jira").data["catalogue"].startswith("unreadable since")


def test_a_contract_is_changed_in_part_and_a_slip_is_named(keeper: Api) -> None:
    declared(keeper, transport="local", tools={"say": {"timeout": 5}})
    path = "/api/tools/jira/say"
    answer = keeper.send("PATCH", path, {"effect": "read", "limit": 10})
    assert answer.status == 200
    contract = answer.data["contract"]
    assert (contract["effect"], contract["limit"], contract["timeout"]) == ("read", 10, 5.0)
    for body, field in (
        ({"timeout": 0}, "timeout"),
        ({"key": {"place": "argument"}}, "body"),
        ({"reader": {"tool": "x"}}, "reader"),
    ):
        refused = keeper.send("PATCH", path, body)
        assert refused.status == 400, body
        assert refused.data["errors"][0]["field"] == field, refused.data
    assert keeper.send("PATCH", path, {}).status == 400
    assert keeper.send("PATCH", "/api/tools/jira/none", {"effect": "read"}).status == 404


def test_servers_and_tools_are_listed_in_pages(keeper: Api) -> None:
    for key in ("a", "b", "c"):
        declared(keeper, key, transport="local", tools={it: {} for it in ("x", "y", "z")})
    for path, name, field in (
        ("/api/servers?limit=2", "servers", "key"),
        ("/api/servers/a/tools?limit=2", "tools", "name"),
    ):
        page = keeper.get(path).data
        rest = keeper.get(page["next"]).data
        assert len(page[name]) == 2
        assert len({it[field] for it in page[name] + rest[name]}) == 3
        assert rest["next"] is None
        assert keeper.get(f"{path}&kind=x").status == 400
    assert "schema" not in keeper.get("/api/servers/a/tools").data["tools"][0]


def test_a_server_is_switched_and_removed(keeper: Api) -> None:
    declared(keeper, transport="local")
    assert keeper.post("/api/servers/jira/disable", {}).data["state"] == "disabled"
    assert keeper.post("/api/servers/jira/enable", {}).data["is_enabled"] is True
    assert keeper.send("DELETE", "/api/servers/jira").data == {"lost": []}
    for verb, path in (
        ("GET", "/api/servers/jira"),
        ("DELETE", "/api/servers/jira"),
        ("POST", "/api/servers/jira/sync"),
        ("POST", "/api/servers/jira/enable"),
        ("GET", "/api/servers/jira/tools"),
        ("GET", "/api/tools/jira/say"),
    ):
        assert keeper.send(verb, path).status == 404, path


def test_each_address_wants_its_permission(fresh_db: FreshDatabase) -> None:
    ToolServer.objects.create(key="jira", transport="local")
    viewer = api_of(make_user("vera", "gateway.view_toolserver", "gateway.view_tool"))
    changer = api_of(make_user("carl", "gateway.change_toolserver"))
    assert viewer.get("/api/servers").status == 200
    for verb, path in (
        ("PUT", "/api/servers/jira"),
        ("DELETE", "/api/servers/jira"),
        ("POST", "/api/servers/jira/sync"),
        ("PATCH", "/api/tools/jira/say"),
        ("POST", "/api/tools/jira/say/approve"),
    ):
        assert viewer.send(verb, path, {}).status == 403, path
    assert changer.send("PUT", "/api/servers/new", {"transport": "local"}).status == 403
    with_tools = {"transport": "local", "tools": {"say": {"effect": "read"}}}
    assert changer.send("PUT", "/api/servers/jira", with_tools).status == 403
    assert changer.send("PUT", "/api/servers/jira", {"name": "Jira"}).status == 200
