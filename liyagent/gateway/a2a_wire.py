"""What the A2A SDK takes for its HTTP transport: all goes out guarded, within limits, a message by its exchange."""

from __future__ import annotations

import json

import httpx
import httpx2

from liyagent.core.errors import LiyagentError
from liyagent.core.plain import TooLarge
from liyagent.gateway.exchange import UNAUTHORIZED, Exchange, read_body
from liyagent.gateway.mcp_http import Bearer

# Of any answer that is no message's: a task with all it made.
ANSWER_LIMIT_BYTES = 8 << 20
SENT = {"SendMessage", "message/send"}
# httpx and the client that sends make these themselves.
OF_THE_WIRE = frozenset({"host", "content-length", "connection", "accept-encoding"})


class Handover(httpx.AsyncBaseTransport):
    """Hands what the SDK asks to our own client; a message to `exchange`, which sends it once and judges its answer."""

    def __init__(
        self, client: httpx2.AsyncClient, bearer: Bearer, exchange: Exchange | None = None
    ) -> None:
        """Without an exchange no message leaves."""
        self._client = client
        self._bearer = bearer
        self._exchange = exchange

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer the SDK's request. Raises httpx's errors, as the SDK expects them."""
        body = await request.aread()
        asked = json.loads(body)
        if asked["method"] in SENT:
            return await self._send_message(request, body, asked["id"])
        try:
            return await self._send(request, body)
        except (httpx2.HTTPError, httpx2.StreamError, OSError, LiyagentError) as error:
            raise httpx.TransportError(f"{type(error).__name__}: {error}") from error

    async def _send_message(
        self, request: httpx.Request, body: bytes, asked: object
    ) -> httpx.Response:
        exchange = self._exchange
        if exchange is None:
            raise httpx.TransportError("a message leaves by an exchange alone")
        try:
            exchange.token = await self._bearer.token()
        except LiyagentError as error:
            exchange.give_up(f"{type(error).__name__}: {error}")
        else:
            await exchange.post(self._client, self._built(request, body, exchange.token))
        # Judged already: the SDK only makes one form of what either version answers.
        result = exchange.outcome.result if exchange.outcome else None
        return httpx.Response(200, json={"jsonrpc": "2.0", "id": asked, "result": result})

    async def _send(self, request: httpx.Request, body: bytes) -> httpx.Response:
        """Send what changes nothing; once more with a fresh token where this one is refused."""
        token = await self._bearer.token()
        answer = await self._posted(request, body, token)
        if answer.status_code == UNAUTHORIZED and self._bearer.is_renewed(token):
            answer = await self._posted(request, body, await self._bearer.token())
        return answer

    async def _posted(self, request: httpx.Request, body: bytes, token: str) -> httpx.Response:
        answer = await self._client.send(
            self._built(request, body, token), stream=True, follow_redirects=False
        )
        try:
            told = await read_body(answer, ANSWER_LIMIT_BYTES)
        except TooLarge as error:
            raise httpx.TransportError(str(error)) from error
        finally:
            await answer.aclose()
        return httpx.Response(answer.status_code, content=told, request=request)

    def _built(self, request: httpx.Request, body: bytes, token: str) -> httpx2.Request:
        kept = {name: it for name, it in request.headers.items() if name not in OF_THE_WIRE}
        if token:
            kept["authorization"] = f"Bearer {token}"
        return self._client.build_request(
            request.method, str(request.url), content=body, headers=kept
        )
