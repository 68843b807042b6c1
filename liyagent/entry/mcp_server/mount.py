"""MCP beside Django: a view judges who asks, and the SDK answers once Django has let go of the request."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from django.http import HttpRequest

from liyagent.core.errors import LiyagentError
from liyagent.core.limits import App, Message, Receive, Scope, Send
from liyagent.core.plain import json_bytes
from liyagent.core.problems import PROBLEM, problem_of
from liyagent.entry.mcp_server.asked import Asked
from liyagent.entry.mcp_server.hosts import check_hosts

PATH = "/mcp"
HANDED, ASKED = "liyagent.mcp.handed", "liyagent.mcp.asked"
ENDPOINT = "liyagent.entry.mcp_server.endpoint"
# Of Django's answer: what describes a body that is not sent.
OF_THE_BODY = frozenset({b"content-type", b"content-length", b"vary"})
OK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """A request that was let in, with its body as it may be stored."""

    asked: Asked
    body: bytes


def hand_over_mcp(request: HttpRequest, asked: Asked, body: bytes) -> bool:
    """Have MCP answer the request in place of the 200 that the view returns; False where nothing here can."""
    handed: list[Handed] | None = getattr(request, "scope", {}).get(HANDED)
    if handed is None:
        return False
    handed.append(Handed(asked=asked, body=body))
    return True


def serve_mcp(app: App) -> App:
    """Return the ASGI app that speaks MCP at `/mcp` with those whom `app` lets in."""

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH:
            await app(scope, receive, send)
            return
        try:
            check_hosts(host=_header(scope, b"host"), origin=_header(scope, b"origin"))
        except LiyagentError as error:
            await _refuse(send, error)
            return
        handed: list[Handed] = []
        headers: list[tuple[bytes, bytes]] = []

        async def unless_handed(message: Message) -> None:
            if not handed:
                await send(message)
            elif message["type"] == "http.response.start":
                kept = (it for it in message["headers"] if it[0].lower() not in OF_THE_BODY)
                headers.extend(kept)

        await app({**scope, HANDED: handed}, receive, unless_handed)
        if handed:
            await _answer(scope, handed[0], receive, partial(_with_headers, send, headers))

    return served


async def _answer(scope: Scope, handed: Handed, receive: Receive, send: Send) -> None:
    """Have the SDK answer. That its caller has gone it hears once a call has begun: nothing that came whole is lost (CR-05)."""
    loop = asyncio.get_running_loop()
    # The import takes half a second, in which others are to be answered.
    endpoint: Any = await loop.run_in_executor(None, import_module, ENDPOINT)
    whole = [{"type": "http.request", "body": handed.body, "more_body": False}]

    async def receive_whole() -> Message:
        if whole:
            return whole.pop()
        await handed.asked.begun.wait()
        return await receive()

    length = (b"content-length", b"%d" % len(handed.body))
    kept = [it for it in scope["headers"] if it[0].lower() != b"content-length"]
    inner = {**scope, "headers": [*kept, length], ASKED: handed.asked}
    await endpoint.answer(inner, receive_whole, send)


async def _with_headers(send: Send, headers: list[tuple[bytes, bytes]], message: Message) -> None:
    """Add what Django's answer would have borne: request id, mission, what every answer says to browsers."""
    if message["type"] == "http.response.start":
        own = {name.lower() for name, _ in message["headers"]}
        added = [it for it in headers if it[0].lower() not in own]
        message = {**message, "headers": [*message["headers"], *added]}
    await send(message)


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for it, value in scope["headers"] if it == name), "")


async def _refuse(send: Send, error: LiyagentError) -> None:
    problem = problem_of(
        status=error.http_status, code=error.code, title=error.title, detail=error.detail
    )
    body = json_bytes(problem)
    headers = [(b"content-type", PROBLEM.encode()), (b"content-length", b"%d" % len(body))]
    start = {"type": "http.response.start", "status": int(error.http_status), "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})
