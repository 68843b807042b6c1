"""Clients of our MCP server: the SDK's own, and bare requests, as one of our users has them."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

ACCEPT = "application/json, text/event-stream"
MODERN, LEGACY = "2026-07-28", "2025-11-25"
TIMEOUT_SECONDS = 20
R = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What came back; `data` is the JSON of the body, or of the last event of a stream."""

    status: int
    headers: dict[str, str]
    data: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class McpUser:
    """One of our users at one of our servers. `mode`: how the SDK's client agrees on a version."""

    port: int
    token: str
    mode: str = "auto"

    @property
    def url(self) -> str:
        """Where the server is."""
        return f"http://127.0.0.1:{self.port}/mcp"

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """The SDK's client, connected."""
        headers = {"Authorization": f"Bearer {self.token}"}
        async with httpx2.AsyncClient(
            headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False
        ) as bare:
            wire = streamable_http_client(self.url, http_client=bare, terminate_on_close=False)
            async with Client(wire, mode=self.mode, cache=None) as client:
                yield client

    def does(self, act: Callable[[Client], Awaitable[R]]) -> R:
        """Do it with a client of its own, and return what came of it."""

        async def acting() -> R:
            async with self.client() as client:
                return await act(client)

        return asyncio.run(acting())

    def call(self, tool: str, *, meta: Any = None, **arguments: Any) -> Any:
        """Call a tool by a client of its own; the SDK's result."""
        return self.does(lambda it: it.call_tool(tool, arguments, meta=meta))

    def post(self, body: Any, **headers: str) -> Response:
        """Send one POST as it is, by the older protocol where `headers` name no version."""
        return self.ask("POST", body if isinstance(body, bytes) else json.dumps(body).encode(), **headers)  # fmt: skip

    def ask(self, method: str, body: bytes = b"", **headers: str) -> Response:
        """Send one request as it is."""
        connection = self.sent(method, body, **headers)
        try:
            return read_response(connection)
        finally:
            connection.close()

    def sent(self, method: str, body: bytes, **headers: str) -> http.client.HTTPConnection:
        """Send one request, and leave its answer unread."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        known = {"Accept": ACCEPT, "Content-Type": "application/json"}
        if self.token:
            known["Authorization"] = f"Bearer {self.token}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, "/mcp", body=body, headers={**known, **named})
        return connection


def read_response(connection: http.client.HTTPConnection) -> Response:
    """Read what came back to its end."""
    response = connection.getresponse()
    body = response.read().decode()
    kind = response.headers.get("Content-Type", "")
    if kind.startswith("text/event-stream"):
        lines = [it.removeprefix("data: ") for it in body.splitlines() if it.startswith("data: ")]
        body = lines[-1] if lines else ""
    data = json.loads(body) if body and "html" not in kind and "plain" not in kind else body
    return Response(status=response.status, headers=dict(response.headers.items()), data=data)


def rpc(method: str, params: Any = None, *, rpc_id: int = 1) -> dict[str, Any]:
    """A request of the protocol."""
    return {"jsonrpc": "2.0", "id": rpc_id, "method": method, "params": params or {}}


def asks(tool: str = "triage", *, meta: Any = None, **arguments: Any) -> dict[str, Any]:
    """A tools/call; `meta` as it is."""
    known = {"task": "look after it", **arguments}
    params = {"name": tool, "arguments": known, **({"_meta": meta} if meta is not None else {})}
    return rpc("tools/call", params)
