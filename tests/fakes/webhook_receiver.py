"""A real receiver of webhooks on loopback, that remembers each request and answers as it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request, as it came; `port` is its sender's."""

    headers: dict[str, str]
    body: bytes
    port: int

    @property
    def webhook_id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def told(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.body)
        return told


class Receiver:
    """Answers with `status` and `headers`; `on_request` is called first, in the thread that serves."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.status = 204
        self.headers: dict[str, str] = {}
        self.on_request: Callable[[Received], None] = lambda _request: None
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Received(headers=headers, body=body, port=self.client_address[1])
                receiver.received.append(request)
                receiver.on_request(request)
                self.send_response(receiver.status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Nothing is printed."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/approvals"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def types(self) -> list[str]:
        """What was told, in the order it came."""
        return [it.told["type"] for it in self.received]

    def ids(self) -> list[str]:
        return [it.webhook_id for it in self.received]
