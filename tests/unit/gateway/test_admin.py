"""Contracts and policies in the admin: checked when saved, and audited."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from liyagent.audit.models import AuditRow
from liyagent.gateway.models import Policy, Tool, ToolServer
from tests.databases import FreshDatabase

PERMIT = '@id("all") permit(principal, action, resource);'


@pytest.fixture
def admin(fresh_db: FreshDatabase) -> Client:
    """A superuser's browser."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_a_policy_is_checked_when_saved_and_a_good_one_is_a_new_version(admin: Client) -> None:
    url = reverse("admin:gateway_policy_add")
    bad = admin.post(url, {"name": "base", "text": "permit(principal, action, resource);"})
    assert "policy at line 1: wants an @id" in bad.content.decode()
    assert not Policy.objects.exists()
    for version in (1, 2):
        admin.post(url, {"name": "base", "text": PERMIT})
        assert Policy.objects.count() == version
    newest = Policy.objects.get(version=2)
    assert not Policy.objects.filter(is_active=True).exists()
    admin.post(f"/admin/gateway/policy/{newest.pk}/put_into_force/", {"confirmed": "yes"})
    assert Policy.objects.get(is_active=True) == newest
    assert AuditRow.objects.filter(action="policy.activated", actor="root").count() == 1


def test_a_contract_is_edited_and_the_catalogues_words_are_not(admin: Client) -> None:
    server = ToolServer.objects.create(key="jira", url="http://127.0.0.1:1/mcp")
    tool = Tool.objects.create(server=server, name="say", fingerprint="new")
    form = {
        "effect": "read",
        "key_place": "none",
        "key_field": "",
        "key_window_seconds": "0",
        "reader": "null",
        "undo": "null",
        "timeout_seconds": "5",
        "limit_bytes": "100",
        "name": "other",
        "fingerprint": "other",
    }
    url = reverse("admin:gateway_tool_change", args=[tool.pk])
    assert admin.get(url).status_code == 200
    assert admin.post(url, form | {"reader": '{"tool": "x"}'}).status_code == 200
    assert admin.post(url, form | {"key_place": "argument"}).status_code == 200
    tool.refresh_from_db()
    assert tool.effect == "write"
    assert admin.post(url, form).status_code == 302
    tool.refresh_from_db()
    assert (tool.effect, tool.name, tool.fingerprint) == ("read", "say", "new")
    assert AuditRow.objects.get(action="tool.set").actor == "root"
    shown = {f"shown-{tool.pk}": tool.fingerprint, "confirmed": "yes"}
    chosen = {"action": "approve", "_selected_action": [tool.pk], **shown}
    admin.post(reverse("admin:gateway_tool_changelist"), chosen)
    tool.refresh_from_db()
    assert tool.is_approved


def test_a_servers_address_is_checked_when_saved(admin: Client) -> None:
    url = reverse("admin:gateway_toolserver_add")
    form = {"key": "jira", "transport": "http", "url": "jira.example.com", "is_enabled": "on"}
    assert "wants http(s)://" in admin.post(url, form).content.decode()
    assert admin.post(url, form | {"url": "https://jira.example.com/mcp"}).status_code == 302
    assert AuditRow.objects.get(action="server.saved").actor == "root"
