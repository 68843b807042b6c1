"""A request that has come whole is carried out, whether or not its caller still waits."""

from __future__ import annotations

import asyncio

from liyagent.core.limits import App, Message, Receive, Scope, Send

# Whoever reads has nothing to lose.
READING = frozenset({"GET", "HEAD", "OPTIONS"})


def outlive_callers(app: App) -> App:
    """Return the ASGI app that is not told that a caller has hung up after the last byte of what may change something.

    Django gives a request up of which it is told so, even before a view has seen it: a start, a decision or a message
    would be lost, and nobody could tell whether it was (ruling 29).
    """

    async def deaf(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in READING:
            await app(scope, receive, send)
            return
        is_whole = False

        async def until_whole() -> Message:
            nonlocal is_whole
            if is_whole:
                # Nothing more is heard; the app ends it once it has answered.
                await asyncio.get_running_loop().create_future()
            message = await receive()
            is_whole = message["type"] == "http.request" and not message.get("more_body")
            return message

        await app(scope, until_whole, send)

    return deaf
