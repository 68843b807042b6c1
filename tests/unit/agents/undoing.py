"""A catalogue of tools that can be undone, and an agent's map over it."""

from __future__ import annotations

from typing import Any

from liyagent.gateway.models import Tool, ToolServer

BASE: dict[str, Any] = {"key": "triage", "name": "Triage", "provider": "scripted", "model": "m"}
AGENT: dict[str, Any] = {**BASE, "tool_patterns": ["jira/*", "mail/send", "mail/unsend"]}
KEY = {"key": "{{ result.key }}"}
UNDO: dict[str, Any] = {"tool": "delete_issue", "args": KEY}
MAP: dict[str, Any] = {"jira/create_issue": UNDO}
DELETE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "key": {"type": "string"},
        "mode": {"enum": ["soft", "hard"]},
        "depth": {"type": "integer"},
    },
    "required": ["key"],
}


def a_catalogue() -> None:
    """Jira, which creates, deletes and searches, and mail, which can send and take back."""
    jira = ToolServer.objects.create(key="jira", transport="local")
    a_tool(jira, "create_issue", undo=UNDO)
    a_tool(jira, "delete_issue", schema=DELETE_SCHEMA)
    a_tool(jira, "search", effect="read")
    mail = ToolServer.objects.create(key="mail", transport="local")
    a_tool(mail, "send")
    a_tool(mail, "unsend", key_place="argument", key_field="step_key", schema={"properties": {"id": {}, "step_key": {}}, "required": ["step_key"]})  # fmt: skip
    a_tool(mail, "shred")


def a_tool(server: ToolServer, name: str, **columns: Any) -> Tool:
    """An offered tool, approved as it is."""
    fixed = {"fingerprint": "f", "approved_fingerprint": "f"}
    return Tool.objects.create(server=server, name=name, **fixed, **columns)
