"""What the three vendors share: a name, a ledger, a pace, and how a read or a write is carried out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from liyagent.demo.vendors.ledger import Effect, Ledger

MISSION = "io.liyagent/mission"
CONFLICT = -32009
STEP_KEY = "io.liyagent/step-key"
T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Pace:
    """How long a write takes before and after it takes effect, in milliseconds. Changed while running."""

    before_ms: float = 25.0
    after_ms: float = 25.0


class Vendor:
    """One vendor: its tools call `write` and `read`, and nothing else touches its ledger."""

    def __init__(self, name: str, ledger: Ledger, pace: Pace) -> None:
        """A vendor called `name` that remembers in `ledger`."""
        self.name = name
        self.ledger = ledger
        self.pace = pace
        self._in_progress: set[str] = set()

    async def read(self, ctx: Context, tool: str, args: dict[str, Any], ask: Callable[[], T]) -> T:
        """Note the call and answer what `ask` finds in the ledger."""
        await self._receive(ctx, tool, args)
        return await anyio.to_thread.run_sync(ask)

    async def write(
        self,
        ctx: Context,
        tool: str,
        args: dict[str, Any],
        *,
        prefix: str,
        key: str = "",
        about: str = "",
    ) -> dict[str, Any]:
        """Let one write take effect, whatever was asked before. `key` is stored and means nothing more.

        Raises `ToolError` 404 where there is no record `about`.
        """
        request = await self._receive(ctx, tool, args, about=about)
        effect = await self._carry_out(request, tool, args, prefix=prefix, key=key, is_kept=False)
        return effect.as_record()

    async def write_once(
        self,
        ctx: Context,
        tool: str,
        args: dict[str, Any],
        *,
        prefix: str,
        key: str,
        about: str = "",
        refused: str = "",
    ) -> dict[str, Any]:
        """Let a write take effect once for its key, for ever; the same request again gets the first answer.

        Raises `ToolError`: 400 without a key, 404 without the record `about`, 422 when the key was used
        for another request, and `refused` where that says why it cannot be. Raises `MCPError` 409 while the first request with the key is in progress:
        a protocol error, since the tool itself has neither failed nor answered.
        """
        request = await self._receive(ctx, tool, args, about=about)
        if not key:
            raise ToolError("400 idempotency_key is required")
        if refused:
            raise ToolError(refused)
        with self._only_one(key):
            effect = await self._first_or_new(request, tool, args, prefix=prefix, key=key)
        return effect.as_record()

    async def _first_or_new(
        self, request: int, tool: str, args: dict[str, Any], *, prefix: str, key: str
    ) -> Effect:
        first = await anyio.to_thread.run_sync(self.ledger.kept, key)
        if first is None:
            return await self._carry_out(request, tool, args, prefix=prefix, key=key, is_kept=True)
        if (first.tool, first.body) != (tool, args):
            raise ToolError("422 this idempotency_key was used for another request")
        await anyio.to_thread.run_sync(self.ledger.repeat, request, first)
        return first

    @contextmanager
    def _only_one(self, key: str) -> Iterator[None]:
        if key in self._in_progress:
            raise MCPError(
                CONFLICT, "409 conflict: a request with this idempotency_key is in progress"
            )
        self._in_progress.add(key)
        try:
            yield
        finally:
            self._in_progress.discard(key)

    async def _receive(
        self, ctx: Context, tool: str, args: dict[str, Any], *, about: str = ""
    ) -> int:
        note = functools.partial(
            self.ledger.receive, mission=_meta(ctx, MISSION), step_key=step_key_of(ctx)
        )
        request = await anyio.to_thread.run_sync(note, tool, args)
        if about and await anyio.to_thread.run_sync(self.ledger.record, about) is None:
            raise ToolError(f"404 no {about}")
        return request

    async def _carry_out(
        self, request: int, tool: str, body: dict[str, Any], *, prefix: str, key: str, is_kept: bool
    ) -> Effect:
        await anyio.sleep(self.pace.before_ms / 1000)
        commit = functools.partial(self.ledger.commit, prefix=prefix, key=key, is_kept=is_kept)
        effect = await anyio.to_thread.run_sync(commit, request, tool, body)
        await anyio.sleep(self.pace.after_ms / 1000)
        return effect


def step_key_of(ctx: Context) -> str:
    """Return the step key that came with a request as `_meta`, else an empty text."""
    return _meta(ctx, STEP_KEY)


def _meta(ctx: Context, name: str) -> str:
    return str((ctx.request_context.meta or {}).get(name, ""))
