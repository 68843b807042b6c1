"""What an operator does in the console: asked first, done by POST alone, audited, and not by everybody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from liyagent.access.keys import create_key, key_of
from liyagent.access.models import ApiKey
from liyagent.agents.models import Agent, ConfigVersion
from liyagent.audit.models import AuditRow
from liyagent.gateway import mcp
from liyagent.gateway.models import DataPolicy, Policy, Tool, ToolServer
from runs.models import Run
from runs.start import start_run
from tests.databases import FreshDatabase
from tests.flows.conftest import make_user

CEDAR = '@id("all") permit (principal, action, resource);'
REASON = {"reason": "it files twice", "confirmed": "yes"}


@pytest.fixture
def root(fresh_db: FreshDatabase) -> Client:
    return client_of(User.objects.create_superuser("root"))


@pytest.fixture
def server(fresh_db: FreshDatabase) -> Iterator[ToolServer]:
    yield ToolServer.objects.create(key="jira", url="http://127.0.0.1:1/mcp")
    mcp.close_all()


@pytest.fixture
def tool(server: ToolServer) -> Tool:
    return Tool.objects.create(
        server=server, name="create_issue", description="New words.", fingerprint="b" * 64, approved_fingerprint="a" * 64,
        approved={"description": "Old words.", "schema": {}},
    )  # fmt: skip


def client_of(user: User) -> Client:
    User.objects.filter(pk=user.pk).update(is_staff=True)
    client = Client()
    client.force_login(user)
    return client


def started(agent: Agent, number: int = 1) -> list[Run]:
    ids = [
        start_run(agent_key=agent.key, task="t", entry="api", started_by="", mission="", request_id="").run_id
        for _ in range(number)
    ]  # fmt: skip
    return list(Run.objects.filter(id__in=ids).order_by("created_at", "id"))


def actions() -> list[str]:
    ours = AuditRow.objects.exclude(action__in=("agent.run.started", "agent.saved")).order_by("id")
    return list(ours.values_list("action", flat=True))


def text(response: Any) -> str:
    assert response.status_code == 200
    return str(response.content.decode())


def test_a_run_is_stopped_by_post_with_a_reason(root: Client, agent: Agent) -> None:
    (run,) = started(agent)
    address = f"/admin/runs/run/{run.id}/stop/"
    assert "Stop the run" in text(root.get(f"{address}?reason=x&confirmed=yes"))
    assert "This field is required" in text(root.post(address, {"confirmed": "yes"}))
    assert actions() == []
    assert root.post(address, REASON).status_code == 302
    row = AuditRow.objects.get(action="agent.run.stop_requested")
    assert (row.actor, row.run_id, row.detail) == ("root", run.id, {"reason": "it files twice"})
    assert Run.objects.get().stop_requested


def test_several_runs_are_stopped_after_they_were_counted_and_listed(
    root: Client, agent: Agent
) -> None:
    runs = started(agent, 3)
    Run.objects.filter(id=runs[0].id).update(status="answered")
    chosen = {"action": "stop_chosen", "_selected_action": [str(it.id) for it in runs]}
    page = text(root.post("/admin/runs/run/", chosen))
    assert "Stop 2 runs" in page
    assert "1 of the chosen runs have ended" in page
    assert page.count('name="_selected_action"') == 2
    assert actions() == []
    root.post("/admin/runs/run/", {**chosen, **REASON})
    assert actions() == ["agent.run.stop_requested"] * 2


def test_no_more_runs_are_stopped_at_once_than_are_listed(
    root: Client, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.admin.MOST_STOPPED", 1)
    runs = started(agent, 3)
    chosen = {"action": "stop_chosen", "_selected_action": [str(it.id) for it in runs]}
    page = text(root.post("/admin/runs/run/", chosen))
    assert "More than 1 were chosen" in page
    root.post("/admin/runs/run/", {**chosen, **REASON})
    assert [it.id for it in Run.objects.filter(stop_requested=True)] == [runs[0].id]


def test_what_is_no_row_is_refused_and_nothing_else_happens(root: Client, agent: Agent) -> None:
    started(agent)
    for chosen in ("no-uuid", "\u0000", "1" * 5000):
        answer = root.post("/admin/runs/run/", {"action": "stop_chosen", "_selected_action": [chosen], **REASON})  # fmt: skip
        assert answer.status_code in {302, 400}, chosen
    assert root.get("/admin/runs/run/no-uuid/change/").status_code in {302, 404}
    assert root.get("/admin/runs/run/no-uuid/stop/").status_code == 404
    assert actions() == []


def test_everything_is_contained_and_released_by_post(root: Client, agent: Agent) -> None:
    contain, release = (f"/admin/agents/agent/{it}-everything/" for it in ("contain", "release"))
    assert "Contain everything" in text(root.get(contain))
    assert not ConfigVersion.objects.get().is_contained
    assert root.post(contain, REASON).status_code == 302
    assert ConfigVersion.objects.get().contained_reason == "it files twice"
    assert "Everything is contained" in text(root.get("/admin/"))
    assert "Release everything" in text(root.get(release))
    assert ConfigVersion.objects.get().is_contained
    root.post(release, {"confirmed": "yes"})
    assert not ConfigVersion.objects.get().is_contained
    assert actions()[-2:] == ["agents.all_contained", "agents.all_released"]


def test_a_changed_tool_is_approved_as_it_was_shown_and_not_otherwise(
    root: Client, tool: Tool
) -> None:
    address = f"/admin/gateway/tool/{tool.pk}/approve_one/"
    page = text(root.get(address))
    assert "Old words." in page
    assert "New words." in page
    shown = {f"shown-{tool.pk}": tool.fingerprint, "confirmed": "yes"}
    Tool.objects.update(description="Other words.", fingerprint="c" * 64)
    root.post(address, shown)
    root.post(address, {"confirmed": "yes"})
    assert actions() == []
    root.post(address, {**shown, f"shown-{tool.pk}": "c" * 64})
    tool.refresh_from_db()
    assert tool.is_approved
    assert tool.approved is not None
    assert tool.approved["description"] == "Other words."
    assert actions() == ["tool.approved"]


def test_tools_are_approved_together_after_their_changes_were_shown(
    root: Client, tool: Tool
) -> None:
    chosen = {"action": "approve", "_selected_action": [str(tool.pk)]}
    page = text(root.post("/admin/gateway/tool/", chosen))
    assert f'name="shown-{tool.pk}" value="{"b" * 64}"' in page
    root.post("/admin/gateway/tool/", {**chosen, "confirmed": "yes", f"shown-{tool.pk}": "b" * 64})
    assert actions() == ["tool.approved"]


def test_a_policy_is_put_into_force_by_post(root: Client) -> None:
    for version in (1, 2):
        Policy.objects.create(name="p", version=version, text=CEDAR, is_active=version == 1)
    address = f"/admin/gateway/policy/{Policy.objects.get(version=2).pk}/put_into_force/"
    assert "It takes the place of p v1" in text(root.get(address))
    assert actions() == []
    root.post(address, {"confirmed": "yes"})
    assert Policy.objects.get(is_active=True).version == 2
    assert actions() == ["policy.activated"]


def test_a_new_policy_is_a_version_that_is_not_in_force(root: Client) -> None:
    root.post("/admin/gateway/policy/add/", {"name": "p", "text": CEDAR, "note": "n"})  # fmt: skip
    policy = Policy.objects.get()
    assert (policy.version, policy.is_active, policy.created_by, policy.note) == (1, False, "root", "n")  # fmt: skip
    assert actions() == ["policy.added"]
    page = text(root.post("/admin/gateway/policy/add/", {"name": "p", "text": "permit ("}))
    assert "Please correct" in page
    assert Policy.objects.count() == 1


def test_a_server_is_saved_switched_and_removed_by_its_verbs(
    root: Client, server: ToolServer
) -> None:
    address = f"/admin/gateway/toolserver/{server.pk}/"
    form = {"name": "Tracker", "transport": "http", "url": "http://127.0.0.1:2/mcp", "is_enabled": "on"}  # fmt: skip
    assert root.post(f"{address}change/", form).status_code == 302
    row = AuditRow.objects.get(action="server.saved")
    assert row.detail["set"] == {"name": "Tracker", "url": "http://127.0.0.1:2/mcp"}
    page = text(root.post(f"{address}change/", {**form, "vendor": "nobody"}))
    assert "vendor" in page
    assert "Switch it off" in text(root.get(f"{address}switch/"))
    root.post(f"{address}switch/", {"to": "off"})
    server.refresh_from_db()
    assert (server.name, server.is_enabled) == ("Tracker", False)
    assert root.post(f"{address}delete/", {"post": "yes"}).status_code == 403
    assert "Remove it" in text(root.get(f"{address}remove/"))
    root.post(f"{address}remove/", {"confirmed": "yes"})
    assert not ToolServer.objects.exists()
    assert actions() == ["server.saved", "server.disabled", "server.removed"]


def test_a_catalogue_is_read_by_post_and_what_went_wrong_is_told(
    root: Client, server: ToolServer
) -> None:
    address = f"/admin/gateway/toolserver/{server.pk}/sync/"
    assert "Read it now" in text(root.get(address))
    server.refresh_from_db()
    assert server.catalogue_error == ""
    page = text(root.post(address, {"confirmed": "yes"}, follow=True))
    assert "catalogue unreadable" in page


def test_a_contract_is_saved_by_its_verb(root: Client, tool: Tool) -> None:
    form = {"effect": "read", "key_place": "none", "key_field": "", "key_window_seconds": "0", "reader": "", "undo": "",
        "permission": "", "timeout_seconds": "30", "limit_bytes": "1048576"}  # fmt: skip
    assert root.post(f"/admin/gateway/tool/{tool.pk}/change/", form).status_code == 302
    row = AuditRow.objects.get(action="tool.set")
    assert row.detail == {"tool": "jira/create_issue", "set": {"effect": "read"}}


def test_data_policies_are_kept_by_their_verbs(root: Client) -> None:
    form = {"name": "cards", "kind": "card", "regex": "", "path": "*", "tools": "*", "action": "deny", "is_enabled": "on"}  # fmt: skip
    assert root.post("/admin/gateway/datapolicy/add/", form).status_code == 302
    address = f"/admin/gateway/datapolicy/{DataPolicy.objects.get().pk}"
    assert root.post(f"{address}/change/", {**form, "action": "mask"}).status_code == 302
    wrong = text(root.post(f"{address}/change/", {**form, "path": "a..b"}))
    assert "errornote" in wrong or "path" in wrong
    root.get(f"{address}/switch/")
    root.post(f"{address}/switch/", {"to": "off"})
    root.get(f"{address}/remove/")
    root.post(f"{address}/remove/", {"confirmed": "yes"})
    assert not DataPolicy.objects.exists()
    assert actions() == ["data_policy.saved", "data_policy.saved", "data_policy.disabled", "data_policy.removed"]  # fmt: skip


def test_a_key_is_revoked_by_post(root: Client) -> None:
    token = create_key(name="ci", username="root").token
    address = f"/admin/access/apikey/{ApiKey.objects.get().pk}/revoke_one/"
    assert "Revoke 1 key" in text(root.get(address))
    assert key_of(token) is not None
    root.post(address, {"confirmed": "yes"})
    assert key_of(token) is None


def test_users_and_groups_are_saved_with_an_audit_row_and_not_deleted(root: Client) -> None:
    root.post("/admin/auth/user/add/", {"username": "olga", "usable_password": "true", "password1": "a-long-secret-1", "password2": "a-long-secret-1"})  # fmt: skip
    olga = User.objects.get(username="olga")
    group = Group.objects.get(name="viewer")
    root.post(f"/admin/auth/user/{olga.pk}/change/", {"username": "olga", "is_active": "on", "is_staff": "on", "groups": [group.pk]})  # fmt: skip
    rows = AuditRow.objects.filter(action__startswith="user.").order_by("id")
    assert [it.action for it in rows] == ["user.created", "user.saved"]
    assert rows[1].detail["groups"] == ["viewer"]
    assert "a-long-secret-1" not in str([it.detail for it in rows])
    assert root.post(f"/admin/auth/user/{olga.pk}/delete/", {"post": "yes"}).status_code == 403
    assert root.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"}).status_code == 403


def test_the_last_administrator_is_not_taken_away(root: Client) -> None:
    me = User.objects.get()
    page = text(root.post(f"/admin/auth/user/{me.pk}/change/", {"username": "root", "is_active": "on", "is_staff": "on"}))  # fmt: skip
    assert "the last active administrator" in page
    assert User.objects.get().is_superuser


def test_who_may_only_see_is_offered_nothing_and_does_nothing(
    fresh_db: FreshDatabase, agent: Agent, tool: Tool
) -> None:
    (run,) = started(agent)
    vera = make_user("vera")
    vera.groups.add(Group.objects.get(name="auditor"))
    key = create_key(name="ci", username="vera")
    client = client_of(vera)
    page = text(client.get(f"/admin/runs/run/{run.id}/change/"))
    assert "Stop this run" not in page
    forbidden = [
        f"runs/run/{run.id}/stop/",
        f"agents/agent/{agent.pk}/contain_one/",
        f"agents/agent/{agent.pk}/release_one/",
        "agents/agent/contain-everything/",
        "agents/agent/release-everything/",
        f"gateway/tool/{tool.pk}/approve_one/",
        *(f"gateway/toolserver/{tool.server_id}/{it}/" for it in ("sync", "switch", "remove")),
        f"access/apikey/{key.key.pk}/revoke_one/",
    ]
    for address in forbidden:
        assert client.get(f"/admin/{address}").status_code == 403, address
        assert client.post(f"/admin/{address}", REASON).status_code == 403, address
    chosen = {"action": "stop_chosen", "_selected_action": [str(run.id)], **REASON}
    client.post("/admin/runs/run/", chosen)
    assert not Run.objects.get().stop_requested
    assert not set(actions()) - {"api_key.created"}
