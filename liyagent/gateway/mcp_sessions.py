"""Every session with a tool server that this process has, over HTTP or stdio, and the calls on their way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio

from liyagent.core.errors import LiyagentError
from liyagent.core.outbound import guarded_async_client
from liyagent.gateway import mcp_resources
from liyagent.gateway.commands import command_named
from liyagent.gateway.contracts import Address
from liyagent.gateway.exchange import LATE_SECONDS, Exchange
from liyagent.gateway.mcp_http import ask_exchange, http_wire
from liyagent.gateway.mcp_resources import Resource, ResourceUnreadable
from liyagent.gateway.mcp_session import (
    CatalogueUnreadable,
    Look,
    Session,
    SessionLost,
    log_failure,
)
from liyagent.gateway.models import Transport
from liyagent.gateway.oauth import Tokens
from liyagent.gateway.outcome import MaySend, NotSent, Outcome, Payload
from liyagent.gateway.results import failed
from liyagent.gateway.stdio import stdio_wire
from liyagent.gateway.stdio_restarts import Restarts

# For opening a session as a whole: a command may have to be fetched first.
OPENING_SECONDS = 30.0
CLOSE_SECONDS = 2.0


class Sessions:
    """Every session of this process, and the calls that are on their way."""

    def __init__(self) -> None:
        """Open the one HTTP client that all of them share; it asks each call before its first byte."""
        self._http = guarded_async_client(before_send=ask_exchange, timeout_seconds=None)
        self._tokens = Tokens()
        self._sessions: dict[Address, Session] = {}
        # Dropped ones too, until they have closed: calls on their way may still use them.
        self._closing: set[asyncio.Task[None]] = set()
        self._restarts: dict[str, Restarts] = {}
        self._exchanges: dict[str, Exchange] = {}
        self._used: dict[str, Session] = {}

    async def call(self, address: Address, payload: Payload, may_send: MaySend) -> Outcome:
        """Send `payload` and return its fate.

        A read whose session was lost (FL-75), or whose fetched token was refused, is made once again.
        """
        exchange = await self._send(address, payload, may_send)
        is_stale = exchange.is_unauthorized and address.oauth is not None
        if (exchange.lost_session or is_stale) and not payload.is_write:
            exchange = await self._send(address, payload, may_send)
        if exchange.not_sent:
            raise NotSent(exchange.not_sent)
        outcome = exchange.outcome or failed("not sent: the exchange ended without a word", payload)
        if is_stale and payload.is_write:
            return replace(outcome, error=f"{outcome.error}; the next call brings a fresh token")
        return outcome

    def is_open(self, address: Address) -> bool:
        """Say whether the session and its token are there; may be asked from any thread."""
        session = self._sessions.get(address)
        is_fresh = address.oauth is None or self._tokens.is_fresh(address.oauth)
        return session is not None and session.is_open and is_fresh

    async def open(self, address: Address) -> None:
        """Open the session if there is none; what went wrong is told by the call that needs it.

        One that was cut off while it opened is opened once more: nothing of a call has left yet.
        """
        session = await self._session(address)
        failed_by_itself = not session.is_open and self._sessions.get(address) is session
        if failed_by_itself and address.transport != Transport.STDIO:
            self._drop(session)
            await self._session(address)
        if address.oauth is not None:
            with contextlib.suppress(LiyagentError):
                await self._tokens.token(address.oauth)

    async def list_tools(self, address: Address) -> list[dict[str, Any]]:
        """Return the server's whole catalogue in its wire form. Raises `CatalogueUnreadable`."""
        session = await self._session(address)
        try:
            return await session.catalogue()
        except CatalogueUnreadable:
            self._drop(session)
            raise

    async def list_resources(self, address: Address) -> list[str]:
        """Return the URIs of its resources. Raises `ResourceUnreadable`."""
        session = await self._session(address)
        try:
            return await mcp_resources.list_resources(session)
        except ResourceUnreadable:
            self._drop(session)
            raise

    async def read_resource(self, address: Address, uri: str) -> Resource:
        """Return one of its resources. Raises `ResourceUnreadable`, `ResourceGone`."""
        session = await self._session(address)
        try:
            return await mcp_resources.read_resource(session, uri)
        except ResourceUnreadable:
            self._drop(session)
            raise

    async def look(self, address: Address) -> Look:
        """Return what the server says of itself. Raises `CatalogueUnreadable`, `TokenRefused`, `BadInput`."""
        seconds = None
        if address.oauth is not None:
            await self._tokens.token(address.oauth)
            seconds = self._tokens.seconds_left(address.oauth)
        tools = await self.list_tools(address)
        try:
            return Look(
                protocol=(await self._session(address)).protocol, tools=tools, token_seconds=seconds
            )
        except SessionLost as error:
            raise CatalogueUnreadable(f"{address.server}: {error}") from error

    def interrupt(self, step_keys: Collection[str]) -> int:
        """Shut the connections of the calls on their way under these keys; return how many there were."""
        picked = [it for it in self._exchanges.values() if it.payload.key in step_keys]
        for exchange in picked:
            exchange.interrupt("this process gave the call up")
        return len(picked)

    async def close(self) -> None:
        """Give up every call, close every session and connection, end every command."""
        self.interrupt({it.payload.key for it in self._exchanges.values()})
        for session in list(self._sessions.values()):
            self._drop(session)
        if tasks := set(self._closing):
            _, slow = await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
            for task in slow:
                task.cancel()
            if slow:
                await asyncio.wait(slow, timeout=CLOSE_SECONDS)
        await self._http.aclose()
        await self._tokens.close()

    def exchange(self, call_id: Any) -> Exchange | None:
        """Return the call that is on its way under this number."""
        return self._exchanges.get(call_id) if isinstance(call_id, str) else None

    async def _send(self, address: Address, payload: Payload, may_send: MaySend) -> Exchange:
        exchange = Exchange(payload, may_send)
        self._exchanges[exchange.id] = exchange
        posting = asyncio.create_task(self._post(address, exchange))
        posting.add_done_callback(log_failure)
        try:
            with anyio.move_on_after(payload.timeout_seconds):
                await exchange.settled.wait()
            exchange.give_up(f"no answer within {payload.timeout_seconds:g} s")
        finally:
            del self._exchanges[exchange.id]
            session = self._used.pop(exchange.id, None)
        if exchange.is_unauthorized and address.oauth is not None:
            self._tokens.forget(address.oauth, exchange.token)
        if exchange.lost_session and session is not None:
            # The one it went by, never one that was opened since.
            self._drop(session)
        return exchange

    async def _post(self, address: Address, exchange: Exchange) -> None:
        """Have the SDK post the call; what came of it stands in the exchange, not in the SDK's answer."""
        from mcp import MCPError  # noqa: PLC0415 - see Session.catalogue
        from mcp_types import CallToolRequest, CallToolRequestParams, Result  # noqa: PLC0415

        session = await self._session(address)
        if exchange.id in self._exchanges:
            self._used[exchange.id] = session
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
            is_command = address.transport == Transport.STDIO
            session = Session(address, self._by_command if is_command else self._by_http)
            self._sessions[address] = session
        with anyio.move_on_after(OPENING_SECONDS):
            await session.ready.wait()
        if not session.ready.is_set():
            session.end(f"it did not open within {OPENING_SECONDS:g} s")
            self._drop(session)
        return session

    def _by_http(self, session: Session) -> AbstractAsyncContextManager[Any]:
        return http_wire(session.address, self._http, self._tokens, self.exchange)

    @asynccontextmanager
    async def _by_command(self, session: Session) -> AsyncIterator[Any]:
        """Start the server's command, unless it keeps dying; what ends it by itself is remembered."""
        server = session.address.server
        command = command_named(session.address.command)
        restarts = self._restarts.setdefault(server, Restarts())
        restarts.begin()

        def on_end(reason: str) -> None:
            restarts.died(reason)
            session.end(reason)
            self._drop(session)

        async with stdio_wire(command, server, self.exchange, on_end) as streams:
            try:
                yield streams
            except Exception as error:
                if not session.is_ended:
                    restarts.died(f"{type(error).__name__}: {error}")
                raise

    def _drop(self, session: Session) -> None:
        """Use it no more. Calls on their way are not disturbed: one over stdio is waited for."""
        if self._sessions.get(session.address) is session:
            del self._sessions[session.address]
        task = session.stop()
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
