"""A caller that asks for a change and is gone after its last byte is not noticed; one that is gone before it is."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

import pytest

from liyagent.core.hang_ups import outlive_callers
from liyagent.core.limits import Message, Receive, Scope, Send

FIRST: dict[str, Any] = {"type": "http.request", "body": b"a", "more_body": True}
LAST: dict[str, Any] = {"type": "http.request", "body": b"b", "more_body": False}
GONE: dict[str, Any] = {"type": "http.disconnect"}


def heard_by(messages: Sequence[dict[str, Any]], *, method: str) -> list[str]:
    """What an app is told of such a request, until nothing more comes."""
    heard: list[str] = []
    coming = list(messages)

    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        while len(heard) < 3:
            message = await asyncio.wait_for(receive(), 0.05)
            heard.append(message["type"])

    async def receive() -> Message:
        return coming.pop(0) if coming else GONE

    async def send(_message: Message) -> None:
        raise AssertionError

    deaf = outlive_callers(app)
    with contextlib.suppress(TimeoutError):
        asyncio.run(deaf({"type": "http", "method": method, "path": "/api/runs"}, receive, send))
    return heard


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_whoever_is_gone_after_the_last_byte_is_not_missed(method: str) -> None:
    assert heard_by([FIRST, LAST, GONE], method=method) == ["http.request"] * 2


def test_whoever_is_gone_before_it_is() -> None:
    assert heard_by([FIRST, GONE], method="POST")[1] == "http.disconnect"


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_of_who_reads_all_is_told(method: str) -> None:
    assert heard_by([LAST, GONE], method=method)[1] == "http.disconnect"


def test_what_is_no_request_passes() -> None:
    passed: list[Scope] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        passed.append(scope)

    async def nothing(*_: Any) -> Any:
        raise AssertionError

    asyncio.run(outlive_callers(app)({"type": "lifespan"}, nothing, nothing))
    assert passed == [{"type": "lifespan"}]
