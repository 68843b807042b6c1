"""A caller that is gone after its last byte is not noticed; one that is gone before it is."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from liyagent.core.hang_ups import outlive_callers
from liyagent.core.limits import Message, Receive, Scope, Send

FIRST: dict[str, Any] = {"type": "http.request", "body": b"a", "more_body": True}
LAST: dict[str, Any] = {"type": "http.request", "body": b"b", "more_body": False}
GONE: dict[str, Any] = {"type": "http.disconnect"}


def heard_by(messages: Sequence[dict[str, Any]], *, path: str) -> list[str]:
    """What an app at `path` is told, until nothing more comes."""
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

    deaf = outlive_callers(app, below=("/hooks/",))
    with contextlib.suppress(TimeoutError):
        asyncio.run(deaf({"type": "http", "path": path}, receive, send))
    return heard


def test_whoever_is_gone_after_the_last_byte_is_not_missed() -> None:
    assert heard_by([FIRST, LAST, GONE], path="/hooks/pager") == ["http.request"] * 2


def test_whoever_is_gone_before_it_is() -> None:
    assert heard_by([FIRST, GONE], path="/hooks/pager")[1] == "http.disconnect"


def test_elsewhere_all_is_told() -> None:
    assert heard_by([LAST, GONE], path="/api/runs")[1] == "http.disconnect"
