"""A long stream after a short request: the view decides, and holds neither thread nor connection while it streams."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

from django.http import HttpRequest

from liyagent.core.limits import App, Message, Receive, Scope, Send

HANDED = "liyagent.stream"

Source = Callable[[], AsyncGenerator[bytes, None]]


def hand_over(request: HttpRequest, source: Source) -> bool:
    """Have `source` streamed as the body of the 200 that the view returns; False where nothing here can.

    Django keeps a thread for each request in its hands, so it is streamed after Django has let go of it.
    """
    handed: list[Source] | None = getattr(request, "scope", {}).get(HANDED)
    if handed is None:
        return False
    handed.append(source)
    return True


def stream_after(app: App) -> App:
    """Return the ASGI app that streams what a view handed over, once the app is through with the request."""

    async def streamed(scope: Scope, receive: Receive, send: Send) -> None:
        handed: list[Source] = []
        is_streaming = False

        async def head_alone(message: Message) -> None:
            nonlocal is_streaming
            if message["type"] == "http.response.start":
                is_streaming = bool(handed) and message["status"] == 200
                message = _without_length(message) if is_streaming else message
            elif is_streaming:
                return
            await send(message)

        await app({**scope, HANDED: handed}, receive, head_alone)
        if is_streaming:
            await _either(_pass_on(handed[0](), send), _until_gone(receive))

    return streamed


def _without_length(message: Message) -> Message:
    kept = [it for it in message["headers"] if it[0].lower() != b"content-length"]
    return {**message, "headers": kept}


async def _pass_on(chunks: AsyncGenerator[bytes, None], send: Send) -> None:
    async with contextlib.aclosing(chunks):
        async for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _either(*works: Coroutine[Any, Any, None]) -> None:
    """Do all until one is done; the others are cancelled and have ended when this returns."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result
