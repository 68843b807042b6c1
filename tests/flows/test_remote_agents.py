"""Remote agents over the API and in the console: declared, read and keyed as any tool server is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client

from liyagent.gateway import a2a
from liyagent.gateway.models import Tool, ToolServer
from tests.databases import FreshDatabase
from tests.fakes.remote_agent import RemoteAgent
from tests.flows.conftest import Api, api_of, make_user


@pytest.fixture
def keeper(fresh_db: FreshDatabase) -> Api:
    """One who keeps servers and tools."""
    servers = [f"gateway.{verb}_toolserver" for verb in ("view", "add", "change", "delete")]
    return api_of(make_user("paul", *servers, "gateway.view_tool", "gateway.change_tool"))


@pytest.fixture
def agent() -> Iterator[RemoteAgent]:
    """An agent to read."""
    with RemoteAgent() as agent:
        yield agent
        a2a.close_all()


def test_an_agent_is_declared_read_and_keyed_over_http(keeper: Api, agent: RemoteAgent) -> None:
    body = {"transport": "a2a", "url": agent.url, "bearer_env": "DISKS_TOKEN"}
    assert keeper.send("PUT", "/api/servers/disks", body).status == 201
    unread = keeper.send("POST", "/api/servers/disks/sync")
    assert (unread.status, "DISKS_TOKEN" in str(unread.data)) == (409, True)
    assert keeper.send("PUT", "/api/servers/disks", {"bearer_env": ""}).status == 200
    synced = keeper.send("POST", "/api/servers/disks/sync")
    assert (synced.status, synced.data["offered"]) == (200, ["ask", "task", "tasks"])
    key = {"key": {"place": "message_id", "window": 86_400}}
    assert keeper.send("PATCH", "/api/tools/disks/ask", key).status == 200
    shown = keeper.get("/api/tools/disks/ask").data
    assert (shown["in_doubt"], shown["contract"]["key"]["place"]) == ("sent again", "message_id")
    meta = {"key": {"place": "meta", "window": 86_400}}
    assert keeper.send("PATCH", "/api/tools/disks/ask", meta).status == 400


def test_an_agent_is_saved_read_and_shown_in_the_console(
    fresh_db: FreshDatabase, agent: RemoteAgent
) -> None:
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    form = {"key": "disks", "name": "Disks", "transport": "a2a", "url": agent.url, "is_enabled": "on"}  # fmt: skip
    assert root.post("/admin/gateway/toolserver/add/", form).status_code == 302
    server = ToolServer.objects.get()
    root.post(f"/admin/gateway/toolserver/{server.pk}/sync/", {"confirmed": "yes"})
    ask = Tool.objects.get(name="ask")
    Tool.objects.filter(pk=ask.pk).update(key_place="message_id", key_window_seconds=86_400)
    page = root.get("/admin/gateway/tool/").content.decode()
    assert "disks/ask" in page
    assert "a message&#x27;s id" in page
    assert "a2a" in root.get("/admin/gateway/toolserver/").content.decode()
