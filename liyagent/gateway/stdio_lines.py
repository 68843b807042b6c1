"""Lines of a stream, read within bounds: what is too long is told by its beginning, what never ends ends the reading."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from liyagent.core.plain import TooLarge

CHUNK_BYTES = 64 << 10
HEAD_BYTES = 256
# Of a line that is too long, so much is passed over in the hope of its end.
MOST_SKIPPED_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end. Where it was too long, `text` is only how it began."""

    text: bytes
    is_whole: bool = True


async def bounded_lines(
    stream: asyncio.StreamReader, most_bytes: Callable[[], int]
) -> AsyncIterator[Line]:
    """Yield each line of `stream`; at most `most_bytes()` of one are held. Raises `TooLarge` for an endless one."""
    held = _Held()
    while chunk := await stream.read(CHUNK_BYTES):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            held.add(end, most_bytes())
            yield held.line()
            held = _Held()
        held.add(rest, most_bytes())


class _Held:
    """What was read of a line so far."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._is_whole = True

    def add(self, part: bytes, most_bytes: int) -> None:
        self._size += len(part)
        if self._is_whole:
            self._parts.append(part)
        if self._size > most_bytes:
            self._parts = [b"".join(self._parts)[:HEAD_BYTES]]
            self._is_whole = False
        if self._size > most_bytes + MOST_SKIPPED_BYTES:
            raise TooLarge(f"a line of its output is longer than {self._size} bytes")

    def line(self) -> Line:
        return Line(b"".join(self._parts), self._is_whole)
