"""What the suite leaves out: a proxy that adds an API key, and a task where a tool is asked nothing at all.

All else, `Host` too, goes through as it came.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OF_THE_CONNECTION = frozenset({"connection", "transfer-encoding", "keep-alive", "content-length"})
PATIENCE_SECONDS = 60
TASK = {"task": "Look after it."}


@contextmanager
def with_bearer(port: int, token: str, *, tasks_for: frozenset[str]) -> Iterator[str]:
    """Serve before the process at `port` until the block ends; give the address of its `/mcp`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self._pass_on()

        def do_GET(self) -> None:
            self._pass_on()

        def do_DELETE(self) -> None:
            self._pass_on()

        def _pass_on(self) -> None:
            self.close_connection = True
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = with_task(body, tasks_for)
            upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in OF_THE_CONNECTION:
                    upstream.putheader(name, value)
            upstream.putheader("Content-Length", str(len(body)))
            upstream.putheader("Authorization", f"Bearer {token}")
            upstream.endheaders(body)
            self._answer(upstream.getresponse())
            upstream.close()

        def _answer(self, answer: http.client.HTTPResponse) -> None:
            self.send_response_only(answer.status, answer.reason)
            for name, value in answer.headers.items():
                if name.lower() not in OF_THE_CONNECTION:
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            while chunk := answer.read1():
                self.wfile.write(chunk)
                self.wfile.flush()

        def log_message(self, *_args: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        finally:
            server.shutdown()
            thread.join()


def with_task(body: bytes, tasks_for: frozenset[str]) -> bytes:
    """Return a request with a task where it calls one of these tools and asks nothing."""
    try:
        message = json.loads(body)
        params = message["params"]
        is_empty = message["method"] == "tools/call" and not params.get("arguments")
    except (ValueError, KeyError, TypeError, AttributeError):
        return body
    if not is_empty or params.get("name") not in tasks_for:
        return body
    return json.dumps({**message, "params": {**params, "arguments": TASK}}).encode()
