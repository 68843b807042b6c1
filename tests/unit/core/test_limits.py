"""The limit on bodies in front of Django."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from liyagent.core.limits import Message, Receive, Scope, Send, limit_body


def sent_for(
    chunks: Sequence[bytes],
    *,
    length: int | None = None,
    kind: str = "http",
    is_chunked: bool = False,
) -> tuple[list[Message], list[Message]]:
    """Send a body in `chunks` to an app behind a limit of 10; return what was answered and what the app received."""
    answered: list[Message] = []
    received: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        more = True
        while more:
            message = await receive()
            received.append(message)
            more = bool(message.get("more_body"))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    waiting: list[Message] = [
        {"type": "http.request", "body": chunk, "more_body": number < len(chunks)}
        for number, chunk in enumerate(chunks, start=1)
    ]

    async def receive() -> Message:
        return waiting.pop(0)

    async def send(message: Message) -> None:
        answered.append(message)

    headers = [] if length is None else [(b"content-length", str(length).encode())]
    headers += [(b"transfer-encoding", b"chunked")] if is_chunked else []
    scope: Scope = {"type": kind, "headers": headers}
    asyncio.run(limit_body(app, limit_bytes=10)(scope, receive, send))
    return answered, received


def test_a_body_within_the_limit_passes() -> None:
    answered, received = sent_for([b"12345", b"67890"], length=10)
    assert [it["body"] for it in received] == [b"12345", b"67890"]
    assert answered[0]["status"] == 200


def test_a_body_declared_too_large_is_refused_before_it_is_read() -> None:
    answered, received = sent_for([b"x"], length=11)
    assert received == []
    assert answered[0]["status"] == 413
    assert (b"content-type", b"application/problem+json") in answered[0]["headers"]
    problem = json.loads(answered[1]["body"])
    assert problem["code"] == "body.too_large"
    assert problem["detail"] == "the body may have 10 bytes"


def test_a_body_that_grows_too_large_is_refused_once_and_the_app_is_told_of_no_more() -> None:
    answered, received = sent_for([b"12345", b"678901", b"never"])
    assert [it["type"] for it in received] == ["http.request", "http.disconnect"]
    assert [it.get("status") for it in answered] == [413, None]


def test_what_is_no_request_passes() -> None:
    assert sent_for([b"x" * 11], kind="lifespan")[0][0]["status"] == 200


def test_a_body_in_chunks_is_measured_before_it_is_passed_on() -> None:
    answered, received = sent_for([b"12345", b"67890"], is_chunked=True)
    assert [it["body"] for it in received] == [b"1234567890"]
    assert answered[0]["status"] == 200


def test_a_body_in_chunks_that_grows_too_large_reaches_nobody() -> None:
    answered, received = sent_for([b"12345", b"678901", b"never"], is_chunked=True)
    assert received == []
    assert [it.get("status") for it in answered] == [413, None]
