"""The ASGI application behind uvicorn in this process, for flows that need what a test client has not."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn


@contextmanager
def serving() -> Iterator[int]:
    """Serve on a free port of loopback until the block ends; give the port."""
    config = uvicorn.Config(
        "liyagent.asgi:application",
        port=0,
        log_config=None,
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(timeout=0.01)
        assert thread.is_alive()
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(timeout=10)


@dataclass(slots=True, kw_only=True)
class Told:
    """One server-sent event, or a line of the protocol's own (`retry`, a comment)."""

    event: str = ""
    id: str = ""
    data: Any = None
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Stream:
    """An open stream. Reads block for at most ten seconds."""

    port: int
    token: str
    connection: http.client.HTTPConnection = field(init=False)
    response: http.client.HTTPResponse = field(init=False)

    def open(self, path: str, **headers: str) -> int:
        """Ask for the stream; return the status."""
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            named["Authorization"] = f"Bearer {self.token}"
        self.connection.request("GET", path, headers=named)
        self.response = self.connection.getresponse()
        return self.response.status

    def blocks(self) -> Iterator[Told]:
        """Yield each block as it comes, until the stream ends."""
        told = Told()
        while line := self.response.readline():
            text = line.decode().rstrip("\n")
            if not text:
                yield told
                told = Told()
                continue
            told.lines.append(text)
            name, _, value = text.partition(": ")
            if name in {"event", "id"}:
                setattr(told, name, value)
            elif name == "data":
                told.data = json.loads(value)

    def events(self, count: int | None = None) -> list[Told]:
        """Return the next `count` events, or all until the end."""
        found: list[Told] = []
        if count == 0:
            return found
        for told in self.blocks():
            if told.event:
                found.append(told)
            if count is not None and len(found) == count:
                break
        return found

    def close(self) -> None:
        """Hang up."""
        self.connection.close()
        self.response.close()
