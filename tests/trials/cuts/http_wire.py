"""HTTP/1.1 as far as a message's end, and the names of the MCP requests in it: nothing of it is changed."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass

from tests.trials.cuts.postgres_wire import CHUNK, MOST_BYTES, Closed

END_OF_HEAD = b"\r\n\r\n"
BODILESS = frozenset({"204", "304"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpMessage:
    """A request or an answer. `is_stream`: an answer whose body goes on until somebody ends it."""

    first_line: str
    raw: bytes
    body: bytes
    is_stream: bool = False


class HttpStream:
    """A socket that is read message by message."""

    def __init__(self, sock: socket.socket) -> None:
        """Read `sock` from now on."""
        self.sock = sock
        self._read = b""

    def message(self) -> HttpMessage:
        """Return the next request or answer, whole. Raises `Closed`."""
        head = self._until(END_OF_HEAD)
        first_line, headers = _parsed(head)
        if headers.get("content-type", "").startswith("text/event-stream"):
            return HttpMessage(first_line=first_line, raw=head, body=b"", is_stream=True)
        body, raw = self._body(first_line, headers)
        return HttpMessage(first_line=first_line, raw=head + raw, body=body)

    def rest(self) -> bytes:
        """Return whatever comes next, as it comes. Raises `Closed`."""
        if not self._read:
            self._pull()
        taken, self._read = self._read, b""
        return taken

    def _body(self, first_line: str, headers: dict[str, str]) -> tuple[bytes, bytes]:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return self._chunks()
        length = int(headers.get("content-length", "0"))
        if first_line.split()[1] in BODILESS or not 0 <= length <= MOST_BYTES:
            return b"", b""
        body = self._take(length)
        return body, body

    def _chunks(self) -> tuple[bytes, bytes]:
        body = raw = b""
        while True:
            line = self._until(b"\r\n")
            size = int(line.split(b";")[0], 16)
            chunk = self._take(size + 2)
            body, raw = body + chunk[:size], raw + line + chunk
            if not size:
                return body, raw

    def _until(self, end: bytes) -> bytes:
        while end not in self._read:
            if len(self._read) > MOST_BYTES:
                raise Closed
            self._pull()
        before, _, self._read = self._read.partition(end)
        return before + end

    def _take(self, length: int) -> bytes:
        while len(self._read) < length:
            self._pull()
        taken, self._read = self._read[:length], self._read[length:]
        return taken

    def _pull(self) -> None:
        received = self.sock.recv(CHUNK)
        if not received:
            raise Closed
        self._read += received


def named(request: HttpMessage) -> str:
    """Return what an MCP request is called: `incident tools/call create_incident`; "" where it is none."""
    verb, path, _ = request.first_line.split(" ", 2)
    if verb != "POST":
        return ""
    asked = json.loads(request.body)
    vendor = path.strip("/").partition("/")[0]
    tool = asked.get("params", {}).get("name", "") if asked.get("method") == "tools/call" else ""
    return f"{vendor} {asked.get('method', 'answer')} {tool}".strip()


def named_end(request: HttpMessage) -> str:
    """Return the verb and the last part of the path that is no id: `put activities`."""
    verb, path, _ = request.first_line.split(" ", 2)
    parts = [it for it in path.partition("?")[0].split("/") if it]
    known = [it for it in parts if it.isalpha()]
    return f"{verb.lower()} {known[-1] if known else path}"


def _parsed(head: bytes) -> tuple[str, dict[str, str]]:
    first_line, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return first_line, {name.strip().lower(): value.strip() for name, _, value in pairs}
