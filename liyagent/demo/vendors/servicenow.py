"""A change register that knows no key at all: a write in doubt here cannot be found again. The blind kind."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations

from liyagent.demo.vendors.vendor import Vendor

READ = ToolAnnotations(read_only_hint=True)
WRITE = ToolAnnotations(read_only_hint=False, idempotent_hint=False)


def build(vendor: Vendor) -> MCPServer[Any]:
    """Return the MCP server of this vendor."""
    server: MCPServer[Any] = MCPServer(vendor.name, log_level="ERROR")

    @server.tool(annotations=WRITE)
    async def create_change(ctx: Context, short_description: str) -> dict[str, Any]:
        """File a change; the same request again files another."""
        body = {"short_description": short_description}
        return await vendor.write(ctx, "create_change", body, prefix="CHG")

    @server.tool(annotations=WRITE)
    async def create_incident(
        ctx: Context, short_description: str, urgency: str = "3"
    ) -> dict[str, Any]:
        """File an incident; the same request again files another."""
        body = {"short_description": short_description, "urgency": urgency}
        return await vendor.write(ctx, "create_incident", body, prefix="SNI")

    @server.tool(annotations=WRITE)
    async def close_change(ctx: Context, change_id: str, close_notes: str) -> dict[str, Any]:
        """Close a change with notes; the same request again closes it again."""
        body = {"change_id": change_id, "close_notes": close_notes}
        return await vendor.write(ctx, "close_change", body, prefix="CLS", about=change_id)

    @server.tool(annotations=WRITE)
    async def cancel_change(ctx: Context, change_id: str, reason: str) -> dict[str, Any]:
        """Cancel a change; the same request again cancels it again."""
        body = {"change_id": change_id, "reason": reason}
        return await vendor.write(ctx, "cancel_change", body, prefix="CAN", about=change_id)

    @server.tool(annotations=READ)
    async def list_changes(ctx: Context) -> dict[str, Any]:
        """Read the newest changes."""
        return await vendor.read(ctx, "list_changes", {}, lambda: _changes(vendor))

    return server


def _changes(vendor: Vendor) -> dict[str, Any]:
    return {"changes": [effect.as_record() for effect in vendor.ledger.latest("create_change")]}
