"""What a caller is told over JSON-RPC, each with the code that the protocol gives it."""

from __future__ import annotations

from typing import Any

from liyagent.core.errors import LiyagentError


class RpcError(LiyagentError):
    """The request could not be carried out."""

    code = "a2a.error"
    rpc_code = -32603
    reason = ""


class NotParsed(RpcError):
    """Invalid JSON payload."""

    code, rpc_code = "a2a.not_parsed", -32700


class NotARequest(RpcError):
    """Request payload validation error."""

    code, rpc_code = "a2a.not_a_request", -32600


class UnknownMethod(RpcError):
    """Method not found."""

    code, rpc_code = "a2a.unknown_method", -32601


class BadParams(RpcError):
    """Invalid parameters."""

    code, rpc_code = "a2a.bad_params", -32602


class Inside(RpcError):
    """Internal error."""

    code, rpc_code = "a2a.internal", -32603


class NoSuchTask(RpcError):
    """Task not found."""

    code, rpc_code, reason = "a2a.task_not_found", -32001, "TASK_NOT_FOUND"


class NotCancelable(RpcError):
    """Task cannot be canceled."""

    code, rpc_code, reason = "a2a.task_not_cancelable", -32002, "TASK_NOT_CANCELABLE"


class Unsupported(RpcError):
    """This operation is not supported."""

    code, rpc_code, reason = "a2a.unsupported", -32004, "UNSUPPORTED_OPERATION"


class WrongContent(RpcError):
    """Incompatible content types."""

    code, rpc_code, reason = "a2a.content_type", -32005, "CONTENT_TYPE_NOT_SUPPORTED"


class WrongVersion(RpcError):
    """Version not supported."""

    code, rpc_code, reason = "a2a.version", -32009, "VERSION_NOT_SUPPORTED"


ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
DOMAIN = "a2a-protocol.org"


def error_told(error: RpcError, *, with_info: bool) -> dict[str, Any]:
    """Return the error member of a response; `with_info` adds what 1.0 wants beside code and message."""
    message = f"{error.title} {error.detail}".strip()
    told: dict[str, Any] = {"code": error.rpc_code, "message": message}
    facts = {name: str(value) for name, value in error.facts.items()}
    if with_info and error.reason:
        info = {"@type": ERROR_INFO, "reason": error.reason, "domain": DOMAIN}
        told["data"] = [{**info, **({"metadata": facts} if facts else {})}]
    elif facts:
        told["data"] = facts
    return told
