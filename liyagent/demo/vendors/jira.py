"""An issue tracker that stores a client's key in a field and never dedupes on it: the readable kind.

The key is the argument `client_key`, else the one that goes with the request as `_meta`.
"""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from liyagent.demo.vendors.ledger import Effect
from liyagent.demo.vendors.vendor import Vendor, step_key_of

# Always there, so that a script can comment without an issue of its own.
ON_CALL_LOG = {"id": "OPS-0", "project": "OPS", "summary": "On-call log", "client_key": ""}
READ = ToolAnnotations(read_only_hint=True)
WRITE = ToolAnnotations(read_only_hint=False, idempotent_hint=False)


def build(vendor: Vendor) -> MCPServer[Any]:
    """Return the MCP server of this vendor."""
    server: MCPServer[Any] = MCPServer(vendor.name, log_level="ERROR")
    _add_writes(server, vendor)
    _add_reads(server, vendor)
    return server


def _add_writes(server: MCPServer[Any], vendor: Vendor) -> None:
    @server.tool(annotations=WRITE)
    async def create_issue(
        ctx: Context, project: str, summary: str, description: str = "", client_key: str = ""
    ) -> dict[str, Any]:
        """Create an issue; the same request again creates another. client_key is kept as a field."""
        client_key = client_key or step_key_of(ctx)
        body = {
            "project": project,
            "summary": summary,
            "description": description,
            "client_key": client_key,
        }
        return await vendor.write(ctx, "create_issue", body, prefix="OPS", key=client_key)

    @server.tool(annotations=WRITE)
    async def add_comment(
        ctx: Context, issue_key: str, body: str, client_key: str = ""
    ) -> dict[str, Any]:
        """Add a comment to an issue; the same request again adds another. client_key is kept as a field."""
        client_key = client_key or step_key_of(ctx)
        comment = {"issue_key": issue_key, "body": body, "client_key": client_key}
        about = "" if issue_key == ON_CALL_LOG["id"] else issue_key
        return await vendor.write(
            ctx, "add_comment", comment, prefix="CMT", key=client_key, about=about
        )

    @server.tool(annotations=WRITE)
    async def delete_issue(
        ctx: Context, issue_key: str, reason: str, client_key: str = ""
    ) -> dict[str, Any]:
        """Delete an issue; the same request again is kept as another. client_key is kept as a field."""
        client_key = client_key or step_key_of(ctx)
        body = {"issue_key": issue_key, "reason": reason, "client_key": client_key}
        return await vendor.write(
            ctx, "delete_issue", body, prefix="DEL", key=client_key, about=issue_key
        )


def _add_reads(server: MCPServer[Any], vendor: Vendor) -> None:
    @server.tool(annotations=READ)
    async def search_issues(ctx: Context, client_key: str = "", text: str = "") -> dict[str, Any]:
        """Find issues by client_key, else by a text in them, else the newest."""
        args = {"client_key": client_key, "text": text}
        found = await vendor.read(
            ctx, "search_issues", args, lambda: _find(vendor, "create_issue", client_key, text)
        )
        return {"issues": found}

    @server.tool(annotations=READ)
    async def search_comments(ctx: Context, client_key: str = "", text: str = "") -> dict[str, Any]:
        """Find comments by client_key, else by a text in them, else the newest."""
        args = {"client_key": client_key, "text": text}
        found = await vendor.read(
            ctx, "search_comments", args, lambda: _find(vendor, "add_comment", client_key, text)
        )
        return {"comments": found}

    @server.tool(annotations=READ)
    async def search_deletions(
        ctx: Context, client_key: str = "", text: str = ""
    ) -> dict[str, Any]:
        """Find what was deleted by client_key, else by a text in it, else the newest."""
        args = {"client_key": client_key, "text": text}
        found = await vendor.read(
            ctx, "search_deletions", args, lambda: _find(vendor, "delete_issue", client_key, text)
        )
        return {"deletions": found}

    @server.tool(annotations=READ)
    async def get_issue(ctx: Context, issue_key: str) -> dict[str, Any]:
        """Read one issue with its comments, and whether it is deleted."""
        return await vendor.read(
            ctx, "get_issue", {"issue_key": issue_key}, lambda: _issue(vendor, issue_key)
        )


def _find(vendor: Vendor, tool: str, client_key: str, text: str) -> list[dict[str, Any]]:
    found: list[Effect]
    if client_key:
        found = vendor.ledger.by_key(tool, client_key)
    elif text:
        found = vendor.ledger.with_text(tool, text)
    else:
        found = vendor.ledger.latest(tool)
    return [effect.as_record() for effect in found]


def _issue(vendor: Vendor, issue_key: str) -> dict[str, Any]:
    comments = vendor.ledger.with_body("add_comment", "issue_key", issue_key)
    issue: dict[str, Any] = ON_CALL_LOG
    if issue_key != ON_CALL_LOG["id"]:
        made = vendor.ledger.record(issue_key)
        if made is None or made.tool != "create_issue":
            raise ToolError(f"404 no issue {issue_key}")
        issue = made.as_record()
    return {
        **issue,
        "is_deleted": bool(vendor.ledger.with_body("delete_issue", "issue_key", issue_key)),
        "comments": [comment.as_record() for comment in comments],
    }
