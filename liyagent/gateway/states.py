"""The state of a server and of a tool in words: the same on the command line, over HTTP and on pages."""

from __future__ import annotations

from liyagent.core.errors import BadInput
from liyagent.core.tables import cell
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.outcome import Contract, Effect
from liyagent.gateway.readers import read_reader

SENT_AGAIN = "sent again"
READ_BACK = "read back"
TOLD_UNKNOWN = "told unknown"


def server_state(server: ToolServer) -> str:
    """Say whether calls may reach it: `enabled` or `disabled`."""
    return "enabled" if server.is_enabled else "disabled"


def catalogue_state(server: ToolServer) -> str:
    """Say when its catalogue was read, or since when it cannot be."""
    if server.catalogue_error:
        return f"unreadable since {cell(server.catalogue_error_since)}: {server.catalogue_error}"
    if server.catalogue_read_at is None:
        return f"never read: `manage.py servers sync {server.key}` reads it"
    return f"read {cell(server.catalogue_read_at)}"


def tool_state(tool: Tool) -> str:
    """Say whether the server offers it, and whether it waits for approval."""
    offered = "offered" if tool.is_offered else "not offered"
    return offered if tool.is_approved else f"{offered}, to approve"


def in_doubt(contract: Contract) -> str:
    """Say what becomes of a write whose outcome is in doubt (CR-22, CR-24); "" for a read, which is made again."""
    return _settled(contract.effect, contract.key_window_seconds, contract.reader is not None)


def in_doubt_of(tool: Tool) -> str:
    """`in_doubt` of a row, without its schema."""
    try:
        has_reader = read_reader(tool.reader) is not None
    except BadInput:
        has_reader = False
    return _settled(Effect(tool.effect), tool.key_window_seconds, has_reader)


def _settled(effect: Effect, window: int, has_reader: bool) -> str:
    if effect is Effect.READ:
        return ""
    if window > 0:
        return SENT_AGAIN
    return READ_BACK if has_reader else TOLD_UNKNOWN
