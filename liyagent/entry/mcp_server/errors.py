"""Why a call of MCP is not taken."""

from __future__ import annotations

from liyagent.core.errors import Conflict, LiyagentError, NotFound


class NoSuchTool(NotFound):
    """There is no such tool here, or it is not open to MCP."""

    code = "mcp.no_such_tool"


class CallKeyReused(Conflict):
    """This key was used before, for a call that asked something else."""

    code = "mcp.key_reused"


class TooManyOpen(LiyagentError):
    """Too many calls of yours are open; ask again once some have ended."""

    code = "mcp.too_many_open"


class NoSuchRun(NotFound):
    """No run of yours with this id came in by MCP."""

    code = "mcp.no_such_run"


class NotLetIn(LiyagentError):
    """Your key or its permissions have gone meanwhile."""

    code = "mcp.not_let_in"
