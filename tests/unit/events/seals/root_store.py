"""A real store of roots on loopback: GET and PUT, `If-None-Match: *`, and down or odd when told to be."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class RootStore:
    """Keeps what is put by path; `order` is every path that was put, `status` what is answered instead where it is set."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.order: list[str] = []
        self.tokens: set[str] = set()
        self.status = 0
        store = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = store.kept.get(self.path)
                self.answer(404 if body is None else 200, body or b"")

            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if store.status:
                    self.answer(store.status)
                elif self.headers.get("if-none-match") == "*" and self.path in store.kept:
                    self.answer(412)
                else:
                    store.kept[self.path] = body
                    store.order.append(self.path)
                    self.answer(204)

            def answer(self, status: int, body: bytes = b"") -> None:
                store.tokens.add(self.headers.get("authorization", ""))
                status = store.status or status
                self.send_response(status)
                if status != 204:
                    self.send_header("content-length", str(len(body)))
                self.end_headers()
                if status != 204:
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nothing is printed."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/roots"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self) -> RootStore:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
