"""Why a call by hand was not made."""

from __future__ import annotations

from http import HTTPStatus

from liyagent.core.errors import BadInput, LiyagentError, NotFound


class ToolUnknown(NotFound):
    """There is no such tool on an enabled server."""

    code = "tool.unknown"


class ArgsMisfit(BadInput):
    """The arguments do not fit the tool's schema."""

    code = "tool.args_misfit"

    def __init__(self, *, path: str, reason: str) -> None:
        """`path` in the arguments, "" for the whole."""
        field = f"args.{path}" if path else "args"
        super().__init__(f"{field}: {reason}")
        self.errors = [{"field": field, "detail": reason}]


class CallRefused(LiyagentError):
    """A gate did not let the call through; nothing was sent."""

    code = "tool.refused"
    http_status = HTTPStatus.FORBIDDEN


class WriteNotPermitted(LiyagentError):
    """This tool writes, and you may call only tools that read."""

    code = "permission.denied"
    http_status = HTTPStatus.FORBIDDEN
