"""Approve a tool as its server describes it now."""

from __future__ import annotations

from django.db import transaction

from liyagent.audit.record import record
from liyagent.core.errors import Conflict, NotFound
from liyagent.gateway.models import Tool


def find_tool(name: str) -> Tool:
    """Return the tool called `server/tool`. Raises `NotFound` that says how tools come to be known."""
    server, _, tool = name.partition("/")
    found = Tool.objects.select_related("server").filter(server__key=server, name=tool).first()
    if found is None:
        raise NotFound(
            f"there is no tool {name!r}; it wants server/tool, read by `manage.py servers sync {server}`"
        )
    return found


def approve_tool(tool: Tool, *, actor: str) -> None:
    """Approve the schema and description that `tool` was read with.

    Raises `Conflict` where another reading changed them since: what was not seen is not approved.
    """
    with transaction.atomic(durable=True):
        rows = Tool.objects.filter(pk=tool.pk, fingerprint=tool.fingerprint).update(
            approved_fingerprint=tool.fingerprint
        )
        if rows != 1:
            raise Conflict(f"{tool} changed while it was looked at; look at it again")
        detail = {
            "tool": str(tool),
            "fingerprint": tool.fingerprint,
            "before": tool.approved_fingerprint,
        }
        record("tool.approved", actor=actor, detail=detail)
