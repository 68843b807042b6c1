"""What stands before a database and tells every client a process id of its own making, as a pooler does."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

# BackendKeyData: the length of the message with a key of four bytes, and the process id that follows.
KEY_DATA = b"K\x00\x00\x00\x0c"


class Pooler:
    """Passes all on, but tells a process id of its own making, as a pooler does that must answer for many backends."""

    def __init__(self, url: str) -> None:
        """Listen on a free port and lead to the database of `url`."""
        parts = urlsplit(url)
        assert parts.hostname
        assert parts.port
        self.server = (parts.hostname, parts.port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        own = f"127.0.0.1:{self.listener.getsockname()[1]}"
        where = f"{parts.hostname}:{parts.port}"
        self.url = parts._replace(netloc=parts.netloc.replace(where, own)).geturl()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Let nobody in any more."""
        self.listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.server)
                threading.Thread(target=_pass_on, args=(client, server), daemon=True).start()
                threading.Thread(target=_pass_back, args=(server, client), daemon=True).start()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError), source, sink:
        while data := source.recv(65_536):
            sink.sendall(data)


def _pass_back(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError), source, sink:
        while data := source.recv(65_536):
            before, found, after = data.partition(KEY_DATA)
            sink.sendall(before + found + b"\x00\x00\x00\x01" + after[4:] if found else data)
