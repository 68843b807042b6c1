"""An OAuth token endpoint on 127.0.0.1 that numbers its tokens and remembers who asked for them."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl

TOKEN = {"token_type": "Bearer", "expires_in": 3600}


@dataclass(slots=True)
class TokenEndpoint:
    """What is asked of it gets `token-1`, `token-2` and so on, `delay` seconds later, with `answer` laid over.

    `status` and `body` answer with something else; `location` redirects.
    """

    answer: dict[str, Any] = field(default_factory=dict)
    delay: float = 0
    status: int = 200
    body: bytes = b""
    location: str = ""
    asked: list[dict[str, str]] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
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
        return f"http://127.0.0.1:{self._server.server_port}/token"

    def reply(self) -> bytes:
        """The body of the next answer."""
        token = {"access_token": f"token-{len(self.asked)}", **TOKEN, **self.answer}
        return self.body or json.dumps(token).encode()


def _handler(endpoint: TokenEndpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", "0"))
            form = dict(parse_qsl(self.rfile.read(length).decode()))
            endpoint.asked.append(form)
            endpoint.authorizations.append(self.headers.get("authorization", ""))
            body = endpoint.reply()
            time.sleep(endpoint.delay)
            self.send_response(307 if endpoint.location else endpoint.status)
            if endpoint.location:
                self.send_header("location", endpoint.location)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
            return

    return Handler
