"""Sessions with MCP servers: one a server, kept open, built again when lost. All of it in the portal's loop."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Collection
from typing import Any

import anyio
import httpx2

from liyagent.core.environment import read_secret
from liyagent.core.errors import LiyagentError
from liyagent.core.outbound import guarded_async_client
from liyagent.core.plain import TooLarge, json_bytes
from liyagent.gateway.contracts import Address
from liyagent.gateway.exchange import CALL_ID, EXTENSION, LATE_SECONDS, Exchange, read_body
from liyagent.gateway.outcome import MaySend, NotSent, Outcome, Payload
from liyagent.gateway.results import failed

logger = logging.getLogger(__name__)

# For opening a session and reading a catalogue; a call has its contract's own timeout.
OPEN_SECONDS = 10.0
CLOSE_SECONDS = 2.0
# Of all its pages together; and of any one answer that is no call's.
CATALOGUE_LIMIT_BYTES = 8 << 20
LONGEST_TROUBLE = 500
# JSON-RPC's first code that is an implementation's own.
TOO_LARGE = -32000
REWRITTEN = frozenset({"content-length", "content-encoding", "transfer-encoding"})
MOST_PAGES = 100


class CatalogueUnreadable(LiyagentError):
    """The server's list of tools cannot be read."""

    code = "gateway.catalogue_unreadable"


class Sessions:
    """Every session of this process, and the calls that are on their way."""

    def __init__(self) -> None:
        """Open the one HTTP client that all of them share; it asks each call before its first byte."""
        self._http = guarded_async_client(before_send=_ask_exchange, timeout_seconds=None)
        self._sessions: dict[Address, Session] = {}
        self._exchanges: dict[str, Exchange] = {}

    async def call(self, address: Address, payload: Payload, may_send: MaySend) -> Outcome:
        """Send `payload` and return its fate. A read whose session was lost is made once again (FL-75)."""
        exchange = await self._send(address, payload, may_send)
        if exchange.lost_session and not payload.is_write:
            exchange = await self._send(address, payload, may_send)
        if exchange.not_sent:
            raise NotSent(exchange.not_sent)
        return exchange.outcome or failed("not sent: the exchange ended without a word", payload)

    def is_open(self, address: Address) -> bool:
        """Say whether the session is there; may be asked from any thread."""
        session = self._sessions.get(address)
        return session is not None and session.is_open

    async def open(self, address: Address) -> None:
        """Open the session if there is none; what went wrong is told by the call that needs it."""
        await self._session(address)

    async def list_tools(self, address: Address) -> list[dict[str, Any]]:
        """Return the server's whole catalogue in its wire form. Raises `CatalogueUnreadable`."""
        # The SDK takes half a second and 60 MB: only a process that calls a server pays for it.
        from mcp import MCPError  # noqa: PLC0415

        session = await self._session(address)
        tools: list[dict[str, Any]] = []
        cursor = None
        left = CATALOGUE_LIMIT_BYTES
        try:
            for _ in range(MOST_PAGES):
                page = await session.opened().list_tools(cursor=cursor)
                tools += [tool.model_dump(by_alias=True, mode="json") for tool in page.tools]
                left -= len(json_bytes(tools[-len(page.tools) :])) if page.tools else 0
                if left < 0:
                    raise ValueError(
                        f"its list of tools has more than {CATALOGUE_LIMIT_BYTES} bytes"
                    )
                cursor = page.next_cursor
                if not cursor:
                    return tools
        except (MCPError, SessionLost, ValueError, RuntimeError) as error:
            self._drop(session)
            told = " ".join(str(error).split())[:LONGEST_TROUBLE]
            raise CatalogueUnreadable(f"{address.server}: {told}") from error
        raise CatalogueUnreadable(
            f"{address.server}: its list of tools has more than {MOST_PAGES} pages"
        )

    def interrupt(self, step_keys: Collection[str]) -> int:
        """Shut the connections of the calls on their way under these keys; return how many there were."""
        picked = [it for it in self._exchanges.values() if it.payload.key in step_keys]
        for exchange in picked:
            exchange.interrupt("this process gave the call up")
        return len(picked)

    async def close(self) -> None:
        """Give up every call, close every session and connection."""
        self.interrupt({it.payload.key for it in self._exchanges.values()})
        tasks = [session.stop() for session in self._sessions.values()]
        self._sessions.clear()
        if tasks:
            _, slow = await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
            for task in slow:
                task.cancel()
        await self._http.aclose()

    def exchange(self, call_id: Any) -> Exchange | None:
        """Return the call that is on its way under this number."""
        return self._exchanges.get(call_id) if isinstance(call_id, str) else None

    async def _send(self, address: Address, payload: Payload, may_send: MaySend) -> Exchange:
        exchange = Exchange(payload, may_send)
        self._exchanges[exchange.id] = exchange
        posting = asyncio.create_task(self._post(address, exchange))
        posting.add_done_callback(_log_failure)
        try:
            with anyio.move_on_after(payload.timeout_seconds):
                await exchange.settled.wait()
            exchange.give_up(f"no answer within {payload.timeout_seconds:g} s")
        finally:
            del self._exchanges[exchange.id]
        if exchange.lost_session and address in self._sessions:
            self._drop(self._sessions[address])
        return exchange

    async def _post(self, address: Address, exchange: Exchange) -> None:
        """Have the SDK post the call; what came of it stands in the exchange, not in the SDK's answer."""
        from mcp import MCPError  # noqa: PLC0415 - see list_tools
        from mcp_types import CallToolRequest, CallToolRequestParams, Result  # noqa: PLC0415

        session = await self._session(address)
        params = CallToolRequestParams.model_validate(
            {
                "name": exchange.payload.tool,
                "arguments": exchange.payload.args,
                "_meta": exchange.meta,
            }
        )
        try:
            # The client's own patience is for opening; without a longer one it would cancel the call at the
            # server. When a call has lasted too long its exchange alone decides.
            await session.opened().session.send_request(
                CallToolRequest(params=params),
                Result,
                request_read_timeout_seconds=exchange.payload.timeout_seconds + 2 * LATE_SECONDS,
            )
        except (
            MCPError,
            SessionLost,
            anyio.ClosedResourceError,
            anyio.BrokenResourceError,
        ) as error:
            if not exchange.is_posted:
                exchange.lost_session = True
                exchange.give_up(f"no session with {address.server}: {error}")
                self._drop(session)

    async def _session(self, address: Address) -> Session:
        """The open session, or a new one; several callers wait for the same opening."""
        session = self._sessions.get(address)
        if session is None:
            for other in [it for it in self._sessions if it.server == address.server]:
                self._drop(self._sessions[other])
            session = self._sessions[address] = Session(address, Handover(self._http, self))
        await session.ready.wait()
        return session

    def _drop(self, session: Session) -> None:
        """Use it no more. Calls on their way are not disturbed: they do not hang on the session."""
        if self._sessions.get(session.address) is session:
            del self._sessions[session.address]
        session.stop()


class SessionLost(LiyagentError):
    """The session with the server is not open."""

    code = "gateway.session_lost"


class Session:
    """One session, held open by a task of its own (what the SDK opens must be closed by the same task)."""

    def __init__(self, address: Address, transport: Handover) -> None:
        """Begin to open it; `ready` is set when that succeeded or failed."""
        self.address = address
        self.ready = anyio.Event()
        self._transport = transport
        self._trouble = "it has ended"
        self._client: Any = None
        self._stop = anyio.Event()
        self._task = asyncio.create_task(self._hold())
        self._task.add_done_callback(_log_failure)

    def opened(self) -> Any:
        """Return the SDK's client. Raises `SessionLost` that says why there is none."""
        if self._client is None:
            raise SessionLost(self._trouble)
        return self._client

    @property
    def is_open(self) -> bool:
        """Whether the SDK's client stands."""
        return self._client is not None

    def stop(self) -> asyncio.Task[None]:
        """Ask it to close, or stop opening it; the task ends when it has."""
        self._stop.set()
        if not self.ready.is_set():
            self._task.cancel()
        return self._task

    async def _hold(self) -> None:
        from mcp import Client, MCPError  # noqa: PLC0415 - see Sessions.list_tools
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

        try:
            headers = _authorization(self.address.bearer_env)
            async with httpx2.AsyncClient(
                transport=self._transport, headers=headers, timeout=None, trust_env=False
            ) as http:
                wire = streamable_http_client(
                    self.address.url, http_client=http, terminate_on_close=False
                )
                async with Client(
                    wire, mode="auto", cache=None, read_timeout_seconds=OPEN_SECONDS
                ) as client:
                    self._client = client
                    self.ready.set()
                    await self._stop.wait()
        except* (
            MCPError,
            httpx2.HTTPError,
            OSError,
            LiyagentError,
            RuntimeError,
            ValueError,
        ) as group:
            self._trouble = "; ".join(_leaves(group)) or self._trouble
        finally:
            self._client = None
            self.ready.set()


class Handover(httpx2.AsyncBaseTransport):
    """What the SDK takes for its HTTP transport: a call's POST is handed to its exchange."""

    def __init__(self, client: httpx2.AsyncClient, sessions: Sessions) -> None:
        """All else goes out by `client` as it is."""
        self._client = client
        self._sessions = sessions

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer the SDK's request. A tools/call that no living exchange knows is never sent."""
        body = await request.aread()
        message = json.loads(body) if request.method == "POST" and body else None
        if not isinstance(message, dict) or message.get("method") != "tools/call":
            answer = await self._client.send(request, stream=True, follow_redirects=False)
            return await _bounded(answer, message)
        meta = message.get("params", {}).get("_meta", {})
        exchange = self._sessions.exchange(meta.get(CALL_ID))
        if exchange is not None:
            await exchange.post(self._client, request)
        result = {"content": [], "resultType": "complete"}
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": message["id"], "result": result})


def _authorization(bearer_env: str) -> dict[str, str] | None:
    """The header for the token that a row names. Raises `BadInput` where there is none, or it is our own."""
    return {"Authorization": f"Bearer {read_secret(bearer_env)}"} if bearer_env else None


async def _bounded(answer: httpx2.Response, message: Any) -> httpx2.Response:
    """The answer read within the limit, since the SDK would read it to its end; a stream as it is."""
    if answer.headers.get("content-type", "").lower().startswith("text/event-stream"):
        return answer
    try:
        body = await read_body(answer, CATALOGUE_LIMIT_BYTES)
    except TooLarge as error:
        asked = message.get("id") if isinstance(message, dict) else None
        refusal = {"code": TOO_LARGE, "message": str(error)}
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": asked, "error": refusal})
    finally:
        await answer.aclose()
    kept = [it for it in answer.headers.multi_items() if it[0].lower() not in REWRITTEN]
    return httpx2.Response(answer.status_code, headers=kept, content=body)


def _ask_exchange(request: httpx2.Request) -> None:
    """Before a request's first byte: a call asks its mark; what is no call changes nothing and goes."""
    exchange = request.extensions.get(EXTENSION)
    if isinstance(exchange, Exchange):
        exchange.before_bytes()


def _leaves(group: BaseException) -> list[str]:
    if isinstance(group, BaseExceptionGroup):
        return [text for inner in group.exceptions for text in _leaves(inner)]
    return [f"{type(group).__name__}: {group}"]


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("an MCP session's task failed", exc_info=error)
