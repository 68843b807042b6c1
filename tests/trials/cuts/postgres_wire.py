"""PostgreSQL's protocol as far as its messages' bounds and the names of statements: nothing of it is changed."""

from __future__ import annotations

import re
import socket
import struct
from dataclasses import dataclass, field

MOST_BYTES = 64 << 20
CHUNK = 65_536
QUERY, PARSE, BIND, SYNC, FLUSH, TERMINATE = b"Q", b"P", b"B", b"S", b"H", b"X"
READY = b"Z"
# What a connection may open with, instead of the version of the protocol.
CANCEL, WANTS_TLS, WANTS_GSS = 80877102, 80877103, 80877104

FUNCTION = re.compile(r"\b(liyagent_(?!now\b)\w+)\s*\(")
TABLE = re.compile(r"\b(?:FROM|INTO|UPDATE)\s+\"?([a-z]\w+)", re.IGNORECASE)
LONGEST_NAME = 40


class Closed(Exception):
    """The other side closed the connection."""


class Stream:
    """A socket that is read message by message."""

    def __init__(self, sock: socket.socket) -> None:
        """Read `sock` from now on."""
        self.sock = sock
        self._read = b""

    @property
    def has_message(self) -> bool:
        """Whether a whole message has been received already."""
        return len(self._read) >= 5 and len(self._read) > self._length(1)

    def message(self) -> bytes:
        """Return the next message as it came: type, length, body. Raises `Closed`."""
        self._fill(5)
        return self._cut(1 + self._length(1))

    def opening(self) -> tuple[int, bytes]:
        """Return the first message of a connection, which has no type: its code, and the bytes."""
        self._fill(8)
        (code,) = struct.unpack_from("!i", self._read, 4)
        return code, self._cut(self._length(0))

    def byte(self) -> bytes:
        """Return one byte: the answer to a wish for encryption."""
        return self._cut(1)

    def pull(self) -> None:
        """Receive what there is. Raises `Closed`."""
        received = self.sock.recv(CHUNK)
        if not received:
            raise Closed
        self._read += received

    def _length(self, at: int) -> int:
        (length,) = struct.unpack_from("!i", self._read, at)
        if not 4 <= length <= MOST_BYTES:
            raise Closed
        return int(length)

    def _cut(self, length: int) -> bytes:
        self._fill(length)
        taken, self._read = self._read[:length], self._read[length:]
        return taken

    def _fill(self, length: int) -> None:
        while len(self._read) < length:
            self.pull()


@dataclass(slots=True)
class Question:
    """What a client sent up to where it waits for an answer; `name` says what it asks for."""

    raw: bytes = b""
    names: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The first statement's name, and how many more go with it."""
        more = len(self.names) - 1
        first = self.names[0] if self.names else "sync"
        return f"{first} and {more} more" if more > 0 else first


class Statements:
    """The prepared statements of one connection, so that what is bound can be named."""

    def __init__(self) -> None:
        """None yet."""
        self._prepared: dict[bytes, str] = {}

    def add(self, question: Question, message: bytes) -> bool:
        """Add a message to a question, and say whether that ends it."""
        kind, body = message[:1], message[5:]
        question.raw += message
        if kind == PARSE:
            statement, sql, _ = body.split(b"\0", 2)
            self._prepared[statement] = named(sql.decode(errors="replace"))
            question.names.append(f"prepare {self._prepared[statement]}")
        elif kind == BIND:
            _, statement, _ = body.split(b"\0", 2)
            self._bound(question, self._prepared.get(statement, "a statement"))
        elif kind == QUERY:
            question.names.append(named(body.rstrip(b"\0").decode(errors="replace")))
        return kind in {QUERY, SYNC}

    @staticmethod
    def _bound(question: Question, name: str) -> None:
        """One that is prepared and bound at once is one statement."""
        if question.names and question.names[-1] == f"prepare {name}":
            question.names[-1] = name
        else:
            question.names.append(name)


def named(sql: str) -> str:
    """Return what a statement is called: its function of ours (but the clock), else verb and table, else its beginning."""
    text = " ".join(sql.split())
    function = FUNCTION.search(text)
    if function is not None:
        return function.group(1)
    verb = text.partition(" ")[0].lower()
    if verb in {"savepoint", "release"}:
        # Its own name has a thread's number in it.
        return text.partition('"')[0].strip().lower()
    table = TABLE.search(text)
    return f"{verb} {table.group(1)}" if table is not None else text[:LONGEST_NAME].lower()
