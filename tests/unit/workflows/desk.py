"""A desk to define workflows at: an agent, tool servers, and the definition of the documents."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from liyagent.agents.definitions import save_agent
from liyagent.gateway.models import Tool, ToolServer

TOOLS = {
    "jira": ("create_issue", "delete_issue", "get_issue"),
    "servicenow": ("create_change", "cancel_change"),
    "pager": ("page",),
}
UNDO = {"tool": "delete_issue", "args": {"issue_key": {"$expr": "steps.issue.output.key"}}}
ISSUE: dict[str, Any] = {"id": "issue", "type": "tool", "server": "jira", "tool": "create_issue", "args": {"summary": "{{ input.title }}"}, "compensate": UNDO}  # fmt: skip
CHANGE: dict[str, Any] = {"id": "change", "type": "tool", "server": "servicenow", "tool": "create_change", "args": {"issue": "{{ steps.issue.output.key }}"}, "compensate": {"tool": "cancel_change", "args": {"id": {"$expr": "steps.change.output.id"}}}}  # fmt: skip
PAGE: dict[str, Any] = {"id": "page", "type": "tool", "server": "pager", "tool": "page", "args": {"text": "{{ input.title }}"}}  # fmt: skip
DEFINITION: dict[str, Any] = {"steps": [ISSUE, CHANGE, PAGE]}


def furnish() -> None:
    """Make the servers with their tools, and two agents: `desk`, which may use them and ask `scout`, and `scout`."""
    for key, names in TOOLS.items():
        server = ToolServer.objects.create(key=key, transport="local")
        for name in names:
            Tool.objects.create(server=server, name=name)
    patterns = ["jira/*", "servicenow/*", "pager/page", "agents/scout"]
    for key, given in (("desk", patterns), ("scout", [])):
        save_agent(
            {"key": key, "name": key, "provider": "scripted", "model": "m", "tool_patterns": given},
            actor="test",
        )


def definition(**changes: Any) -> dict[str, Any]:
    """Return the documents' definition with its first step changed."""
    changed = deepcopy(DEFINITION)
    changed["steps"][0].update(changes)
    return changed


def given(**changes: Any) -> dict[str, Any]:
    """Return a workflow as it is saved."""
    whole = {"key": "outage", "name": "Outage", "agent": "desk", "definition": definition()}
    return {**whole, **changes}
