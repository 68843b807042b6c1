"""A limit on bodies before Django keeps them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from liyagent.core.plain import json_bytes
from liyagent.core.problems import PROBLEM, BodyTooLarge, problem_of

LENGTHS = (b"content-length", b"transfer-encoding")

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]]


def limit_body(app: App, *, limit_bytes: int) -> App:
    """Return the ASGI app behind a limit on bodies: 413, before any of a too large one is kept.

    Django keeps a body in memory and on disk before a view sees it.
    """

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
        elif _declared_length(scope) > limit_bytes:
            await _refuse(send, limit_bytes)
        elif _header(scope, b"transfer-encoding"):
            await _measured(app, scope, receive, send, limit_bytes)
        else:
            await _counted(app, scope, receive, send, limit_bytes)

    return limited


async def _measured(app: App, scope: Scope, receive: Receive, send: Send, limit_bytes: int) -> None:
    """A body sent in chunks, read first: what declares no length is taken for empty further in."""
    body = b""
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return
        body += message.get("body", b"")
        more = bool(message.get("more_body"))
        if len(body) > limit_bytes:
            await _refuse(send, limit_bytes)
            return
    kept = [it for it in scope["headers"] if it[0].lower() not in LENGTHS]
    length = (b"content-length", b"%d" % len(body))
    whole = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_whole() -> Message:
        return whole.pop() if whole else await receive()

    await app({**scope, "headers": [*kept, length]}, receive_whole, send)


async def _counted(app: App, scope: Scope, receive: Receive, send: Send, limit_bytes: int) -> None:
    taken, refused = 0, False

    async def counting_receive() -> Message:
        nonlocal taken, refused
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > limit_bytes and not refused:
            refused = True
            await _refuse(send, limit_bytes)
        # Django gives a disconnected client's request up.
        return {"type": "http.disconnect"} if refused else message

    async def guarded_send(message: Message) -> None:
        if not refused:
            await send(message)

    await app(scope, counting_receive, guarded_send)


def _declared_length(scope: Scope) -> int:
    value = _header(scope, b"content-length")
    return int(value) if value.isdigit() else 0


def _header(scope: Scope, name: bytes) -> bytes:
    return next((value for it, value in scope["headers"] if it.lower() == name), b"")


async def _refuse(send: Send, limit_bytes: int) -> None:
    error = BodyTooLarge(f"the body may have {limit_bytes} bytes")
    body = json_bytes(
        problem_of(
            status=error.http_status, code=error.code, title=error.title, detail=error.detail
        )
    )
    headers = [(b"content-type", PROBLEM.encode()), (b"content-length", b"%d" % len(body))]
    await send(
        {"type": "http.response.start", "status": int(error.http_status), "headers": headers}
    )
    await send({"type": "http.response.body", "body": body})
