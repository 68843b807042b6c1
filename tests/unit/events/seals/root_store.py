"""A real store of roots on loopback: GET and PUT, `If-None-Match: *`, and down or odd when told to be."""

from __future__ import annotations

import dataclasses
import gzip
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.conf import settings


def set_target(monkeypatch: pytest.MonkeyPatch, export: str, token: str = "") -> None:
    """Roots are exported to this directory or web address."""
    roots = dataclasses.replace(settings.LIYAGENT.roots, export=export, token=token)
    conf = dataclasses.replace(settings.LIYAGENT, roots=roots, allowed_private_hosts=("127.0.0.1",))
    monkeypatch.setattr(settings, "LIYAGENT", conf)


class RootStore:
    """Keeps what is put by path; `order` is every path that was put, `status` what is answered instead where it is set.

    While `answers` is not set it takes what it is sent, and says nothing.
    """

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.order: list[str] = []
        self.tokens: set[str] = set()
        self.status = 0
        self.answers = threading.Event()
        self.answers.set()
        store = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                store.wait()
                body = store.kept.get(self.path)
                self.answer(404 if body is None else 200, body or b"")

            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                store.wait()
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
                try:
                    self.end_headers()
                    self.wfile.write(body if status != 204 else b"")
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Nothing is printed."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/roots"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def wait(self) -> None:
        """It answers once it is to answer at all."""
        self.answers.wait(timeout=30)

    def __enter__(self) -> RootStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.answers.set()
        self._server.shutdown()
        self._server.server_close()


class OddStore:
    """A target on loopback whose answers `drips` a byte now and then, are `endless`, or are a bomb when they are unpacked (`packed`)."""

    def __init__(self, way: str) -> None:
        bomb = gzip.compress(b"0" * (8 << 20))

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                if way == "packed":
                    self.send_header("content-encoding", "gzip")
                    self.send_header("content-length", str(len(bomb)))
                self.end_headers()
                piece = bomb if way == "packed" else b"0" * (1 if way == "drips" else 1 << 16)
                try:
                    self.wfile.write(piece)
                    while way != "packed":
                        self.wfile.write(piece)
                        time.sleep(0.02 if way == "drips" else 0)
                except OSError:
                    self.close_connection = True

            def do_PUT(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                self.do_GET()

            def log_message(self, *_: object) -> None:
                """Nothing is printed."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    def __enter__(self) -> str:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
