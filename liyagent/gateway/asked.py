"""What a server asks of us while it works, and what we answer: that we are there, and that we do nothing else for it.

A server may ask for roots, a sampling or an elicitation although we declare none of them. Unanswered, it would wait,
and its call with it, until that is in doubt.
"""

from __future__ import annotations

from typing import Any

NO_METHOD = -32601
# Of one call over HTTP, or waiting at once over stdio; beyond it nothing is answered.
MOST_REPLIES = 16


def reply_to(message: Any) -> dict[str, Any] | None:
    """Return our answer to a request of the server's, None for what is no request."""
    if not isinstance(message, dict) or "method" not in message or "id" not in message:
        return None
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "ping":
        return {**reply, "result": {}}
    return {**reply, "error": {"code": NO_METHOD, "message": "this client does not do that"}}
