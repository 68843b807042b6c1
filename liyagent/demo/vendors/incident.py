"""An incident manager that takes an idempotency key with every write: the keyed kind."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from liyagent.demo.vendors.alerts import alert
from liyagent.demo.vendors.vendor import Vendor

READ = ToolAnnotations(read_only_hint=True)
ONCE = ToolAnnotations(read_only_hint=False, idempotent_hint=True)
# Whom a page reaches; nobody else is on call.
ON_CALL = {"database": "Dana", "platform": "Peter"}


def build(vendor: Vendor) -> MCPServer[Any]:
    """Return the MCP server of this vendor."""
    server: MCPServer[Any] = MCPServer(vendor.name, log_level="ERROR")

    @server.tool(annotations=ONCE)
    async def create_incident(
        ctx: Context, name: str, severity: str, idempotency_key: str = "", summary: str = ""
    ) -> dict[str, Any]:
        """Open an incident. The same idempotency_key always gives the incident that it first opened."""
        body = {
            "name": name,
            "severity": severity,
            "summary": summary,
            "idempotency_key": idempotency_key,
        }
        return await vendor.write_once(
            ctx, "create_incident", body, prefix="INC", key=idempotency_key
        )

    @server.tool(annotations=ONCE)
    async def update_incident(
        ctx: Context, incident_id: str, message: str, idempotency_key: str = "", status: str = ""
    ) -> dict[str, Any]:
        """Post an update to an incident and, with status, move it. Once for an idempotency_key."""
        body = {
            "incident_id": incident_id,
            "message": message,
            "status": status,
            "idempotency_key": idempotency_key,
        }
        return await vendor.write_once(
            ctx, "update_incident", body, prefix="UPD", key=idempotency_key, about=incident_id
        )

    @server.tool(annotations=ONCE)
    async def page_on_call(
        ctx: Context, team: str, message: str, idempotency_key: str = ""
    ) -> dict[str, Any]:
        """Page whoever of a team is on call: database or platform. Once for an idempotency_key."""
        body = {"team": team, "message": message, "idempotency_key": idempotency_key}
        nobody = "" if team in ON_CALL else f"404 nobody of team {team!r} is on call"
        return await vendor.write_once(
            ctx, "page_on_call", body, prefix="PAG", key=idempotency_key, refused=nobody
        )

    @server.tool(annotations=READ)
    async def get_incident(ctx: Context, incident_id: str) -> dict[str, Any]:
        """Read one incident with its status and updates."""
        args = {"incident_id": incident_id}
        return await vendor.read(ctx, "get_incident", args, lambda: _incident(vendor, incident_id))

    @server.tool(annotations=READ)
    async def list_incidents(ctx: Context) -> dict[str, Any]:
        """Read the newest incidents."""
        return await vendor.read(ctx, "list_incidents", {}, lambda: _incidents(vendor))

    @server.tool(annotations=READ)
    async def get_alert(ctx: Context, alert_id: str) -> dict[str, Any]:
        """Read an alert: what is wrong on which host, how bad it is, and whose it is."""
        args = {"alert_id": alert_id}
        return await vendor.read(ctx, "get_alert", args, lambda: _alert(alert_id))

    return server


def _alert(alert_id: str) -> dict[str, Any]:
    found = alert(alert_id)
    if found is None:
        raise ToolError(f"404 no alert {alert_id}")
    return found


def _incident(vendor: Vendor, incident_id: str) -> dict[str, Any]:
    made = vendor.ledger.record(incident_id)
    if made is None or made.tool != "create_incident":
        raise ToolError(f"404 no incident {incident_id}")
    updates = vendor.ledger.with_body("update_incident", "incident_id", incident_id)
    moves = [update.body["status"] for update in updates if update.body["status"]]
    return {
        **made.as_record(),
        "status": moves[-1] if moves else "open",
        "updates": [update.as_record() for update in updates],
    }


def _incidents(vendor: Vendor) -> dict[str, Any]:
    return {"incidents": [effect.as_record() for effect in vendor.ledger.latest("create_incident")]}
