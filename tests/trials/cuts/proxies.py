"""What stands between the victim and the servers: it passes messages on whole, one after another, through the gate."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

import psutil

from tests.trials.cuts import http_wire
from tests.trials.cuts.course import Moment
from tests.trials.cuts.gate import Gate, Severed
from tests.trials.cuts.http_wire import HttpMessage, HttpStream
from tests.trials.cuts.postgres_wire import (
    CANCEL,
    FLUSH,
    READY,
    TERMINATE,
    WANTS_GSS,
    WANTS_TLS,
    Closed,
    Question,
    Statements,
    Stream,
)

CONNECT_SECONDS = 5.0


class Link:
    """One connection to a server. What the victim opened goes through the gate, all else just goes on."""

    def __init__(self, client: socket.socket, server: socket.socket, gate: Gate) -> None:
        """Both ends are open."""
        self.client = client
        self.server = server
        self.gate = gate
        self.is_victims = _is_of(gate.pid, client.getpeername()[1])

    def __enter__(self) -> Self:
        """From now on the gate may sever it."""
        if self.is_victims:
            self.gate.joined(self)
        return self

    def __exit__(self, *_how: object) -> None:
        """Close both ends."""
        self.gate.left(self)
        self.client.close()
        self.server.close()

    def sever(self) -> None:
        """End it on both sides; whoever reads or writes it notices."""
        for it in (self.client, self.server):
            with suppress(OSError):
                it.shutdown(socket.SHUT_RDWR)

    def pass_on(self, name: str, question: bytes, answer: Callable[[], bytes]) -> None:
        """Pass one message and its answer through the gate. Raises `Severed`, `Closed`."""
        message = self.gate.arrive(name) if self.is_victims and name else None
        self.gate.reach(message, Moment.BEFORE)
        self.server.sendall(question)
        answered = answer()
        self.gate.reach(message, Moment.EFFECTED)
        self.client.sendall(answered)
        self.gate.reach(message, Moment.PASSED)


class Proxy:
    """Listens on a free port of this machine and leads each connection to one server, on a thread of its own."""

    def __init__(self, url: str, gate: Gate) -> None:
        """Lead to the server of `url`; `self.url` is the same address through here."""
        parts = urlsplit(url)
        assert parts.hostname
        assert parts.port
        self.gate = gate
        self.server = (parts.hostname, parts.port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        where = f"{parts.hostname}:{parts.port}"
        self.port = int(self.listener.getsockname()[1])
        self.url = parts._replace(
            netloc=parts.netloc.replace(where, f"127.0.0.1:{self.port}")
        ).geturl()

    def __enter__(self) -> Self:
        """Begin to listen."""
        threading.Thread(target=self._accept, name=f"proxy {self.port}", daemon=True).start()
        return self

    def __exit__(self, *_how: object) -> None:
        """Let nobody in any more."""
        self.listener.close()

    def serve(self, link: Link) -> None:
        """Pass messages on until one side closes."""
        raise NotImplementedError

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._lead, args=(client,), daemon=True).start()

    def _lead(self, client: socket.socket) -> None:
        with suppress(OSError, Closed, Severed):
            server = socket.create_connection(self.server, timeout=CONNECT_SECONDS)
            server.settimeout(None)
            for it in (client, server):
                it.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with Link(client, server, self.gate) as link:
                self.serve(link)
        client.close()


class PostgresProxy(Proxy):
    """To a database: a message is what a client sends until it waits for an answer, and ends with ReadyForQuery."""

    def serve(self, link: Link) -> None:
        """Open the session, then pass on one message after another."""
        client, server = Stream(link.client), Stream(link.server)
        if not _open_session(client, server):
            return
        statements = Statements()
        while True:
            question = _question(client, server, statements)
            link.pass_on(question.name, question.raw, lambda: _until_ready(server))


class VendorProxy(Proxy):
    """To the vendors, for whoever calls them: what comes from the victim goes through the gate, all else goes on."""

    def serve(self, link: Link) -> None:
        """Pass on one request after another."""
        client, server = HttpStream(link.client), HttpStream(link.server)
        while True:
            request = client.message()
            link.pass_on(self.name_of(request), request.raw, lambda: self._answer(server, link))

    def name_of(self, request: HttpMessage) -> str:
        """Return what a request is called; what has no name is no message."""
        return http_wire.named(request)

    @staticmethod
    def _answer(server: HttpStream, link: Link) -> bytes:
        answer = server.message()
        if answer.is_stream:
            link.client.sendall(answer.raw)
            while True:
                link.client.sendall(server.rest())
        return answer.raw


class EndProxy(VendorProxy):
    """To the other end of a way in: each request of the victim is a message, called by that end's name."""

    def __init__(self, url: str, gate: Gate, *, name: str) -> None:
        """Lead to the server of `url`."""
        super().__init__(url, gate)
        self.name = name

    def name_of(self, request: HttpMessage) -> str:
        """Return `connector post activities`."""
        return f"{self.name} {http_wire.named_end(request)}"


def _open_session(client: Stream, server: Stream) -> bool:
    """Lead through the start of a session until the server is ready; false where it is no session."""
    while True:
        code, opening = client.opening()
        server.sock.sendall(opening)
        if code == CANCEL:
            return False
        if code not in {WANTS_TLS, WANTS_GSS}:
            break
        client.sock.sendall(server.byte())
    while True:
        readable = _readable(client, server)
        if server in readable:
            told = server.message()
            client.sock.sendall(told)
            if told[:1] == READY:
                return True
        elif client in readable:
            server.sock.sendall(client.message())


def _question(client: Stream, server: Stream, statements: Statements) -> Question:
    """Return what the client asks next; what the server says unasked is told to it meanwhile. Raises `Closed`."""
    question = Question()
    while True:
        readable = _readable(client, server)
        if server in readable:
            client.sock.sendall(server.message())
        if client not in readable:
            continue
        message = client.message()
        if message[:1] == TERMINATE:
            server.sock.sendall(message)
            raise Closed
        if statements.add(question, message):
            return question
        if message[:1] == FLUSH:
            server.sock.sendall(question.raw)
            question.raw = b""


def _readable(client: Stream, server: Stream) -> list[Stream]:
    ready = [it for it in (server, client) if it.has_message]
    if ready:
        return ready
    found, _, _ = select.select([server.sock, client.sock], [], [])
    return [it for it in (server, client) if it.sock in found]


def _until_ready(server: Stream) -> bytes:
    told = b""
    while True:
        message = server.message()
        told += message
        if message[:1] == READY:
            return told


def _is_of(pid: int | None, port: int) -> bool:
    """Whether a process has a socket with this local port."""
    if pid is None:
        return False
    try:
        opened = psutil.Process(pid).net_connections(kind="tcp")
    except psutil.Error:
        return False
    return any(it.laddr and it.laddr.port == port for it in opened)
