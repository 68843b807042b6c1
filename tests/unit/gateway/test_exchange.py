"""One sending on the wire: its bytes leave once, and never after it was given up."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import anyio
import httpx2
import pytest

from liyagent.core.outbound import guarded_async_client
from liyagent.gateway.exchange import EXTENSION, Exchange
from liyagent.gateway.outcome import Fate, NotSent
from tests.fakes.tool_server import ToolServer
from tests.unit.gateway.support import a_payload, always


def in_a_loop(work: Callable[[Exchange], Awaitable[None]]) -> Exchange:
    """Do `work` with a fresh exchange and return it."""

    async def run() -> Exchange:
        exchange = Exchange(a_payload(), always)
        await work(exchange)
        return exchange

    return anyio.run(run)


def test_after_it_was_given_up_its_bytes_never_leave() -> None:
    async def work(exchange: Exchange) -> None:
        exchange.give_up("no answer in time")
        with pytest.raises(NotSent):
            exchange.before_bytes()

    exchange = in_a_loop(work)
    assert exchange.outcome is not None
    assert exchange.outcome.fate is Fate.FAILED
    assert exchange.outcome.error == "not sent: no answer in time"


def test_its_bytes_leave_once() -> None:
    async def work(exchange: Exchange) -> None:
        exchange.before_bytes()
        with pytest.raises(NotSent):
            exchange.before_bytes()

    in_a_loop(work)


def test_given_up_after_its_bytes_left_it_is_in_doubt() -> None:
    async def work(exchange: Exchange) -> None:
        exchange.before_bytes()
        exchange.give_up("no answer in time")

    exchange = in_a_loop(work)
    assert exchange.outcome is not None
    assert exchange.outcome.fate is Fate.UNKNOWN


def test_posted_twice_it_is_sent_once_and_its_answer_stands(tool_server: ToolServer) -> None:
    """A second POST of the same call must neither be sent nor pass for "not one byte left"."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "say"}}
    tool_server.next("say", before=0.1)

    def ask(request: httpx2.Request) -> None:
        request.extensions[EXTENSION].before_bytes()

    async def work(exchange: Exchange) -> None:
        async with (
            guarded_async_client(before_send=ask) as client,
            anyio.create_task_group() as posts,
        ):
            body = json.dumps(message).encode()
            first, second = (
                client.build_request("POST", tool_server.url, content=body) for _ in range(2)
            )
            posts.start_soon(exchange.post, client, first)
            await anyio.sleep(0.02)
            await exchange.post(client, second)
            assert not exchange.settled.is_set()

    exchange = in_a_loop(work)
    assert len(tool_server.calls("say")) == 1
    assert exchange.not_sent == ""
