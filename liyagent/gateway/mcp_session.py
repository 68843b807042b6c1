"""One session with an MCP server: what the SDK negotiates, held open, and the catalogue read by it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2

from liyagent.core.errors import LiyagentError
from liyagent.core.plain import json_bytes
from liyagent.gateway.contracts import Address
from liyagent.gateway.mcp_http import CATALOGUE_LIMIT_BYTES

logger = logging.getLogger(__name__)

# For each request of opening a session and reading a catalogue; a call has its contract's own timeout.
OPEN_SECONDS = 10.0
LONGEST_TROUBLE = 500
MOST_PAGES = 100

MakeWire = Callable[["Session"], AbstractAsyncContextManager[Any]]


class CatalogueUnreadable(LiyagentError):
    """The server's list of tools cannot be read."""

    code = "gateway.catalogue_unreadable"


class SessionLost(LiyagentError):
    """The session with the server is not open."""

    code = "gateway.session_lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a look at a server found: the protocol agreed on, its whole catalogue, and how long its token lasts."""

    protocol: str
    tools: list[dict[str, Any]]
    token_seconds: float | None = None


class Session:
    """One session, held open by a task of its own (what the SDK opens must be closed by the same task)."""

    def __init__(self, address: Address, make_wire: MakeWire) -> None:
        """Begin to open it; `ready` is set when that succeeded or failed."""
        self.address = address
        self.ready = anyio.Event()
        self.is_ended = False
        self._make_wire = make_wire
        self.trouble = "it has ended"
        self._client: Any = None
        self._stop = anyio.Event()
        self._task = asyncio.create_task(self._hold())
        self._task.add_done_callback(log_failure)

    def opened(self) -> Any:
        """Return the SDK's client. Raises `SessionLost` that says why there is none."""
        if self._client is None:
            raise SessionLost(self.trouble)
        return self._client

    async def catalogue(self) -> list[dict[str, Any]]:
        """Return the server's whole catalogue in its wire form. Raises `CatalogueUnreadable`."""
        # The SDK takes half a second and 60 MB: only a process that calls a server pays for it.
        from mcp import MCPError  # noqa: PLC0415

        try:
            return await self._pages()
        except (MCPError, SessionLost, ValueError, RuntimeError) as error:
            said = " ".join((self.trouble if self.is_ended else str(error)).split())
            told = f"{self.address.server}: {said[:LONGEST_TROUBLE]}"
            raise CatalogueUnreadable(told) from error

    async def _pages(self) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = []
        cursor = None
        left = CATALOGUE_LIMIT_BYTES
        for _ in range(MOST_PAGES):
            page = await self.opened().list_tools(cursor=cursor)
            added = [tool.model_dump(by_alias=True, mode="json") for tool in page.tools]
            left -= len(json_bytes(added))
            if left < 0:
                raise ValueError(f"its list of tools has more than {CATALOGUE_LIMIT_BYTES} bytes")
            tools += added
            cursor = page.next_cursor
            if not cursor:
                return tools
        raise ValueError(f"its list of tools has more than {MOST_PAGES} pages")

    @property
    def protocol(self) -> str:
        """The protocol version agreed on. Raises `SessionLost`."""
        return str(self.opened().protocol_version)

    @property
    def is_open(self) -> bool:
        """Whether the SDK's client stands."""
        return self._client is not None

    def end(self, reason: str) -> None:
        """Note that its server is gone, and why."""
        self.is_ended = True
        self.trouble = reason
        self._client = None

    def stop(self) -> asyncio.Task[None]:
        """Ask it to close, or stop opening it; the task ends when it has."""
        self._stop.set()
        if not self.ready.is_set():
            self._task.cancel()
            # A task that had not begun yet ends without a word: whoever waits for the opening is told here.
            self.ready.set()
        return self._task

    async def _hold(self) -> None:
        from mcp import Client, MCPError  # noqa: PLC0415 - see catalogue

        try:
            async with Client(
                self._make_wire(self), mode="auto", cache=None, read_timeout_seconds=OPEN_SECONDS
            ) as client:
                if not self.is_ended:
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
            if not self.is_ended:
                self.trouble = "; ".join(_leaves(group)) or self.trouble
        finally:
            self._client = None
            self.ready.set()


def _leaves(group: BaseException) -> list[str]:
    if isinstance(group, BaseExceptionGroup):
        return [text for inner in group.exceptions for text in _leaves(inner)]
    return [f"{type(group).__name__}: {group}"]


def log_failure(task: asyncio.Task[Any]) -> None:
    """Log what nobody expected of a task that nobody waits for."""
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("a task of a tool server's session failed", exc_info=error)
