"""A tool server over HTTP that asks its client something in the middle of a call, and answers when it was answered."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

ANSWER_SECONDS = 5.0
INITIALIZED = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {"listChanged": True}},
    "serverInfo": {"name": "asking", "version": "1"},
}


@dataclass(slots=True)
class AskingServer:
    """`asks` are the methods that it asks for in each call; `replies` what came back, with the headers they came with."""

    asks: tuple[str, ...] = ("ping", "roots/list", "sampling/createMessage")
    replies: dict[str, dict[str, Any]] = field(default_factory=dict)
    headers: list[dict[str, str]] = field(default_factory=list)
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    _server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Self:
        """Listen."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Its address."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_port}/mcp"


def _handler(server: AskingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(405)

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            method = message.get("method")
            if method is None:
                server.replies[message["id"]] = message
                server.headers.append({name.lower(): it for name, it in self.headers.items()})
                server.arrived.release()
                self._answer(202)
            elif method == "initialize":
                self._answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": INITIALIZED})
            elif method == "tools/call":
                self._ask_then_answer(message["id"])
            else:
                self._answer(400 if "id" in message else 202)

        def _ask_then_answer(self, rpc_id: Any) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
            self._event(changed)
            for method in server.asks:
                self._event({"jsonrpc": "2.0", "id": f"ask-{method}", "method": method})
            answered = all(server.arrived.acquire(timeout=ANSWER_SECONDS) for _ in server.asks)
            said = {"content": [{"type": "text", "text": "answered" if answered else "ignored"}]}
            self._event({"jsonrpc": "2.0", "id": rpc_id, "result": said})
            self.close_connection = True

        def _event(self, message: dict[str, Any]) -> None:
            self.wfile.write(f"event: message\ndata: {json.dumps(message)}\n\n".encode())
            self.wfile.flush()

        def _answer(self, status: int, body: Any = None) -> None:
            content = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Mcp-Session-Id", "s-1")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name in the base class
            """Say nothing."""

    return Handler
