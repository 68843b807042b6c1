"""The hot pool prepares its statements where its sessions are its own, and not behind a pooler (ruling 3b)."""

from __future__ import annotations

import dataclasses
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from liyagent.core.database import close_hot_pool, hot_pool
from runs import hot
from tests.databases import FreshDatabase

# BackendKeyData: the length of the message with a key of four bytes, and the process id that follows.
KEY_DATA = b"K\x00\x00\x00\x0c"
PREPARED = "SELECT count(*) FROM pg_prepared_statements"


class Pooler:
    """Passes all on, but tells a process id of its own making, as a pooler does that must answer for many backends."""

    def __init__(self, host: str, port: int) -> None:
        """Listen on a free port and lead to this server."""
        self.server = (host, port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

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


@pytest.fixture
def pooled(fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The hot pool leads through a pooler."""
    parts = urlsplit(fresh_db.url)
    assert parts.hostname
    assert parts.port
    pooler = Pooler(parts.hostname, parts.port)
    url = parts._replace(netloc=parts.netloc.replace(f":{parts.port}", f":{pooler.port}")).geturl()
    close_hot_pool()
    monkeypatch.setattr(
        settings, "LIYAGENT", dataclasses.replace(settings.LIYAGENT, database_url=url)
    )
    yield
    close_hot_pool()
    pooler.listener.close()


def ask_thrice() -> int:
    """Ask the same three times on one connection; how many statements it has prepared for that."""
    for _ in range(3):
        assert hot.config_version(lambda: True) > 0
    with hot_pool().connection() as connection:
        row = connection.execute(PREPARED, prepare=False).fetchone()
    assert row is not None
    return int(row[0])


def test_what_is_asked_often_is_prepared(fresh_db: FreshDatabase) -> None:
    assert ask_thrice() == 1


@pytest.mark.field("FL-28")
def test_nothing_is_prepared_behind_a_pooler(pooled: None) -> None:
    assert ask_thrice() == 0
