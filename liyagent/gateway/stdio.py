"""A server by stdio on the wire: one line out, one line in, each call's bytes once and asked for right before.

The MCP SDK negotiates over the two streams that `stdio_wire` yields. A tools/call is taken out of its hands as
over HTTP (see `exchange`): its line is written here, its answer read here, and the SDK gets an empty one. All
calls of this process share the child; each knows its own fate when the child dies.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from liyagent.core.plain import NotStorable, TooLarge, parse_json
from liyagent.gateway.asked import MOST_REPLIES, reply_to
from liyagent.gateway.commands import Command
from liyagent.gateway.exchange import BODY_DEPTH, CALL_ID, LATE_SECONDS, Exchange
from liyagent.gateway.fates import fate_of_answer
from liyagent.gateway.outcome import NotSent
from liyagent.gateway.results import in_doubt
from liyagent.gateway.stdio_child import Child, start_child
from liyagent.gateway.stdio_lines import Line, bounded_lines

logger = logging.getLogger(__name__)

FindExchange = Callable[[Any], Exchange | None]
OnEnd = Callable[[str], None]

# Of a line that answers no call: a page of a catalogue.
MOST_LINE_BYTES = 8 << 20
# A child that takes no byte for so long reads its input no more.
STUCK_SECONDS = 10.0
# Lines in a row that are no messages, until it is taken for something other than a server.
MOST_GARBAGE = 200
# How our own SDK, and most servers, begin an answer: enough to tell whose a too long one is.
DIGITS = re.compile(r"[0-9]{1,18}")
ANSWER_HEAD = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*"?(\d{1,18})"?\s*,')


class ChildBroken(Exception):
    """The child can be spoken with no more; its text says why."""


@asynccontextmanager
async def stdio_wire(
    command: Command, server: str, find: FindExchange, on_end: OnEnd
) -> AsyncIterator[Any]:
    """Start the child and yield the SDK's two streams; `on_end` is told why where it ends by itself.

    Left without an error, the calls on their way are waited for (each has its own timeout) and the child is
    asked to end; left by an error or a cancellation, it is killed. Raises what `start_child` raises.
    """
    child = await start_child(command, server)
    to_sdk, from_child = anyio.create_memory_object_stream[Any](0)
    from_sdk, to_child = anyio.create_memory_object_stream[Any](0)
    wire = _Wire(child, server, to_sdk, find, on_end)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wire.read)
            tasks.start_soon(wire.write, to_child)
            yield from_child, from_sdk
            await wire.calls_settled()
            tasks.cancel_scope.cancel()
    finally:
        wire.break_off("the command was ended")
        for stream in (to_sdk, from_child, from_sdk, to_child):
            stream.close()
        await child.end()


class _Wire:
    """What goes to one child and comes from it."""

    def __init__(
        self, child: Child, server: str, to_sdk: Any, find: FindExchange, on_end: OnEnd
    ) -> None:
        self._child = child
        self._server = server
        self._to_sdk = to_sdk
        self._find = find
        self._on_end = on_end
        self._lock = anyio.Lock()
        self._calls: dict[int, tuple[Exchange, float]] = {}
        self._replies: set[asyncio.Task[None]] = set()
        self._garbage = 0
        self._ended = ""

    async def calls_settled(self) -> None:
        """Wait until every call that was written, or is to be, is settled."""
        for exchange, _ in list(self._calls.values()):
            await exchange.settled.wait()

    def break_off(self, reason: str) -> None:
        """Settle every call on its way as the end of the child leaves it."""
        for exchange, _ in self._calls.values():
            exchange.break_off(reason)
        self._calls.clear()
        for reply in self._replies:
            reply.cancel()

    async def read(self) -> None:
        """Take the child's lines until it ends or can be read no more."""
        reason = "the command ended"
        try:
            async for line in bounded_lines(self._child.stdout, self._most_bytes):
                await self._take(line)
            await self._child.heard_out()
        except (ChildBroken, TooLarge) as error:
            reason = f"the command is ended: {error}"
        self._end(f"{reason}{f': {self._child.words}' if self._child.words else ''}")

    async def write(self, messages: Any) -> None:
        """Write the SDK's messages, a call's as its mark allows."""
        try:
            async for posted in messages:
                message = posted.message
                text = message.model_dump_json(by_alias=True, exclude_unset=True)
                if getattr(message, "method", "") == "tools/call":
                    await self._write_call(message, text.encode())
                else:
                    await self._write_line(text.encode())
        except (ChildBroken, OSError) as error:
            self._end(f"the command takes no input: {error}")

    def _end(self, reason: str) -> None:
        if self._ended:
            return
        self._ended = reason
        logger.warning("server %s: %s", self._server, reason)
        self.break_off(reason)
        self._on_end(reason)
        self._to_sdk.close()

    async def _write_call(self, message: Any, text: bytes) -> None:
        """Write a call that a living exchange knows, once; whatever came of it, the SDK need not wait."""
        exchange = self._find((message.params or {}).get("_meta", {}).get(CALL_ID))
        if exchange is None or not exchange.take():
            await self._answer_sdk(message.id)
            return
        if self._ended:
            exchange.break_off(self._ended)
            return
        self._forget_late()
        self._calls[message.id] = (
            exchange,
            time.monotonic() + LATE_SECONDS + exchange.payload.timeout_seconds,
        )
        try:
            await self._write_line(text, exchange)
        except NotSent as reason:
            del self._calls[message.id]
            exchange.refuse(reason)
            await self._answer_sdk(message.id)

    async def _write_line(self, text: bytes, exchange: Exchange | None = None) -> None:
        """Write one line whole. Raises `NotSent` before its first byte, `ChildBroken`, OSError."""
        async with self._lock:
            left = memoryview(text + b"\n")
            while left:
                with anyio.move_on_after(STUCK_SECONDS) as patience:
                    await anyio.wait_writable(self._child.stdin)
                if patience.cancelled_caught:
                    raise ChildBroken(f"it read nothing for {STUCK_SECONDS:g} s")
                is_first = len(left) == len(text) + 1
                left = left[self._write_some(left, exchange if is_first else None) :]

    def _write_some(self, left: memoryview, exchange: Exchange | None) -> int:
        """Write what the pipe takes now; `exchange` is asked where its first byte is the next to be written."""
        if exchange is not None:
            exchange.before_bytes()
        try:
            return os.write(self._child.stdin, left)
        except OSError as error:
            if exchange is not None:
                # Not one byte was taken.
                exchange.has_left = False
            if isinstance(error, BlockingIOError):
                return 0
            raise

    async def _take(self, line: Line) -> None:
        if not line.text.strip():
            return
        message, trouble = _parsed(line)
        answers = _answered_id(message, line)
        if answers in self._calls:
            await self._settle(answers, line, message, trouble)
        elif isinstance(message, dict) and ("method" in message or answers is not None):
            await self._pass_on(line.text) if "method" not in message else self._asked(message)
        else:
            self._count_garbage(line, trouble or "it is neither a request nor an answer")
            return
        self._garbage = 0

    async def _settle(self, rpc_id: int, line: Line, message: Any, trouble: str) -> None:
        exchange, _ = self._calls.pop(rpc_id)
        if not trouble and len(line.text) > exchange.most_bytes:
            trouble = f"it is longer than {exchange.most_bytes} bytes"
        if trouble:
            said = f"the answer cannot be read: {trouble}"
            exchange.answered(in_doubt(said, exchange.payload))
        else:
            exchange.answered(fate_of_answer(200, message, exchange.payload))
        await self._answer_sdk(rpc_id)

    def _count_garbage(self, line: Line, trouble: str) -> None:
        self._garbage += 1
        if self._garbage == 1:
            logger.warning(
                "server %s wrote no message: %s: %r", self._server, trouble, line.text[:200]
            )
        if self._garbage > MOST_GARBAGE:
            raise ChildBroken(f"it wrote {self._garbage} lines that are no messages")

    def _asked(self, message: dict[str, Any]) -> None:
        """Answer what the server asks of us: that we are there, and that we can do nothing else for it."""
        reply = reply_to(message)
        if reply is None or len(self._replies) >= MOST_REPLIES:
            return
        task = asyncio.create_task(self._reply(json.dumps(reply).encode()))
        self._replies.add(task)
        task.add_done_callback(self._replies.discard)

    async def _reply(self, text: bytes) -> None:
        try:
            await self._write_line(text)
        except (ChildBroken, OSError) as error:
            logger.warning("server %s takes no reply: %s", self._server, error)

    async def _pass_on(self, text: bytes) -> None:
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - the same
        from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415 - see Session.catalogue

        try:
            message = jsonrpc_message_adapter.validate_json(text, by_name=False)
        except ValueError as error:
            self._count_garbage(Line(text), " ".join(str(error).split())[:200])
            return
        await self._tell_sdk(SessionMessage(message))

    async def _answer_sdk(self, rpc_id: int) -> None:
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - see Session.catalogue
        from mcp_types import JSONRPCResponse  # noqa: PLC0415 - the same

        empty = {"content": [], "resultType": "complete"}
        await self._tell_sdk(
            SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=rpc_id, result=empty))
        )

    async def _tell_sdk(self, message: Any) -> None:
        try:
            await self._to_sdk.send(message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            # The session is closing: only calls are waited for.
            return

    def _forget_late(self) -> None:
        now = time.monotonic()
        for rpc_id in [it for it, (_, until) in self._calls.items() if until < now]:
            del self._calls[rpc_id]

    def _most_bytes(self) -> int:
        return max([MOST_LINE_BYTES, *(it.most_bytes for it, _ in self._calls.values())])


def _parsed(line: Line) -> tuple[Any, str]:
    """What a line says, or why it cannot be read."""
    if not line.is_whole:
        return None, "it is too long"
    try:
        return parse_json(line.text, max_depth=BODY_DEPTH), ""
    except NotStorable as error:
        return None, str(error)


def _answered_id(message: Any, line: Line) -> int | None:
    """Which request a message answers; of one that cannot be read, what its beginning says."""
    if isinstance(message, dict) and "method" not in message:
        answers = message.get("id")
        if isinstance(answers, str) and DIGITS.fullmatch(answers):
            return int(answers)
        return answers if type(answers) is int else None
    if message is None and (head := ANSWER_HEAD.match(line.text)):
        return int(head[1])
    return None
