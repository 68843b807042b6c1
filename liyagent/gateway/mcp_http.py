"""An MCP session over HTTP: what the SDK posts goes out guarded, with its token; a call's POST to its exchange."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from liyagent.core.environment import read_secret
from liyagent.core.errors import LiyagentError
from liyagent.core.plain import TooLarge
from liyagent.gateway.contracts import Address
from liyagent.gateway.exchange import CALL_ID, EXTENSION, UNAUTHORIZED, Exchange, read_body
from liyagent.gateway.oauth import Tokens

FindExchange = Callable[[Any], Exchange | None]

# Of all pages of a catalogue together; and of any one answer that is no call's.
CATALOGUE_LIMIT_BYTES = 8 << 20
# JSON-RPC's first code that is an implementation's own.
NOT_ANSWERED = -32000
REFUSED = frozenset({401, 403})
REWRITTEN = frozenset({"content-length", "content-encoding", "transfer-encoding"})


@asynccontextmanager
async def http_wire(
    address: Address, client: httpx2.AsyncClient, tokens: Tokens, find: FindExchange
) -> AsyncIterator[Any]:
    """Yield the SDK's two streams to the server at `address`. Raises where its token cannot be had."""
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - see Session.catalogue

    bearer = Bearer(address, tokens)
    await bearer.token()
    transport = Handover(client, bearer, find)
    async with (
        httpx2.AsyncClient(transport=transport, timeout=None, trust_env=False) as http,
        streamable_http_client(address.url, http_client=http, terminate_on_close=False) as streams,
    ):
        yield streams


class Bearer:
    """The token that goes with each request to one server: of its variable, or fetched by OAuth, or none."""

    def __init__(self, address: Address, tokens: Tokens) -> None:
        """Take the row's word; nothing is fetched yet. Raises `BadInput` where its variable holds no token."""
        self._credentials = address.oauth
        self._tokens = tokens
        self._fixed = read_secret(address.bearer_env) if address.bearer_env else ""

    async def token(self) -> str:
        """Return the token, "" where the server takes none. Raises `TokenRefused` or `BadInput`."""
        return await self._tokens.token(self._credentials) if self._credentials else self._fixed

    def is_renewed(self, refused: str) -> bool:
        """Forget a token that the server refused; say whether another can be had."""
        if self._credentials is not None:
            self._tokens.forget(self._credentials, refused)
        return self._credentials is not None


class Handover(httpx2.AsyncBaseTransport):
    """What the SDK takes for its HTTP transport: a call's POST is handed to its exchange."""

    def __init__(self, client: httpx2.AsyncClient, bearer: Bearer, find: FindExchange) -> None:
        """All else goes out by `client`, with the server's token."""
        self._client = client
        self._bearer = bearer
        self._find = find

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer the SDK's request. A tools/call that no living exchange knows is never sent."""
        body = await request.aread()
        message = json.loads(body) if request.method == "POST" and body else None
        if not isinstance(message, dict) or message.get("method") != "tools/call":
            return await _bounded(await self._send(request), message)
        meta = message.get("params", {}).get("_meta", {})
        exchange = self._find(meta.get(CALL_ID))
        if exchange is not None:
            await self._post(exchange, request)
        result = {"content": [], "resultType": "complete"}
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": message["id"], "result": result})

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        """Send what is no call; once more with a fresh token where the server refuses this one."""
        token = await self._stamp(request)
        answer = await self._client.send(request, stream=True, follow_redirects=False)
        if answer.status_code != UNAUTHORIZED or not self._bearer.is_renewed(token):
            return answer
        await answer.aclose()
        await self._stamp(request)
        return await self._client.send(request, stream=True, follow_redirects=False)

    async def _post(self, exchange: Exchange, request: httpx2.Request) -> None:
        try:
            exchange.token = await self._stamp(request)
        except LiyagentError as error:
            exchange.give_up(f"{type(error).__name__}: {error}")
            return
        await exchange.post(self._client, request)

    async def _stamp(self, request: httpx2.Request) -> str:
        token = await self._bearer.token()
        if token:
            request.headers["Authorization"] = f"Bearer {token}"
        return token


async def _bounded(answer: httpx2.Response, message: Any) -> httpx2.Response:
    """The answer read within the limit, since the SDK would read it to its end; a stream as it is."""
    if answer.headers.get("content-type", "").lower().startswith("text/event-stream"):
        return answer
    asked = message.get("id") if isinstance(message, dict) else None
    if answer.status_code in REFUSED and asked is not None:
        # The SDK would tell of an error response, and not of which.
        await answer.aclose()
        return _refusal(asked, f"refused by the server: HTTP status {answer.status_code}")
    try:
        body = await read_body(answer, CATALOGUE_LIMIT_BYTES)
    except TooLarge as error:
        return _refusal(asked, str(error))
    finally:
        await answer.aclose()
    kept = [it for it in answer.headers.multi_items() if it[0].lower() not in REWRITTEN]
    return httpx2.Response(answer.status_code, headers=kept, content=body)


def _refusal(asked: Any, said: str) -> httpx2.Response:
    refusal = {"code": NOT_ANSWERED, "message": said}
    return httpx2.Response(200, json={"jsonrpc": "2.0", "id": asked, "error": refusal})


def ask_exchange(request: httpx2.Request) -> None:
    """Before a request's first byte: a call asks its mark; what is no call changes nothing and goes."""
    exchange = request.extensions.get(EXTENSION)
    if isinstance(exchange, Exchange):
        exchange.before_bytes()
