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


def approve_tool(tool: Tool, *, actor: str, fingerprint: str | None = None) -> None:
    """Approve the schema and description that were shown, and keep them for the next diff.

    `fingerprint` is what was shown, by default that of `tool` as it was read. Raises `Conflict` where
    another reading changed them since: what was not seen is not approved. `NotFound` where it is gone.
    """
    shown = tool.fingerprint if fingerprint is None else fingerprint
    with transaction.atomic(durable=True):
        row = Tool.objects.select_for_update().filter(pk=tool.pk).first()
        if row is None:
            raise NotFound(f"{tool} is gone: its server was removed meanwhile")
        if not row.fingerprint:
            raise Conflict(f"{tool} was never read; sync its server first")
        if row.fingerprint != shown:
            raise Conflict(f"{tool} changed while it was looked at; look at it again")
        before = row.approved_fingerprint
        row.approved_fingerprint = shown
        row.approved = approved_form(row.description, row.schema)
        row.save(update_fields=["approved_fingerprint", "approved"])
        detail = {"tool": str(tool), "fingerprint": shown, "before": before}
        record("tool.approved", actor=actor, detail=detail)


def approved_form(description: str, schema: object) -> dict[str, object]:
    """Return what `Tool.approved` keeps of what was approved."""
    return {"description": description, "schema": schema}
