"""Server-sent events, read from bytes as they come, and what they add up to. Pure: no network, no SDK."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

LINE_END = re.compile(r"\r\n|\n|\r(?!\Z)")


class Fold(Protocol):
    """What the events of a stream add up to: the body that would have come without streaming."""

    is_finished: bool
    """Whether the model told why it stopped."""
    is_over: bool
    """Whether nothing more belongs to the answer."""

    def add(self, event: dict[str, Any]) -> None:
        """Take the next event."""
        ...

    def body(self) -> dict[str, Any]:
        """Return what the events say so far."""
        ...


def event_data(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yield the data of each event, its lines joined; comments (keep-alives), names and ids are passed over.

    An event counts without the empty line behind it too: some servers end so.
    """
    data: list[str] = []
    for line in _lines(pieces):
        if not line:
            if data:
                yield "\n".join(data)
            data = []
        elif line == "data" or line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
    if data:
        yield "\n".join(data)


def _lines(pieces: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest: list[str] = []
    is_start = True
    for piece in pieces:
        text = decoder.decode(piece)
        if is_start and text:
            text, is_start = text.removeprefix("\ufeff"), False
        # A line may come in many pieces: joined once it ends, not each time.
        if not LINE_END.search("".join(rest[-1:])[-1:] + text):
            rest.append(text)
            continue
        *whole, last = LINE_END.split("".join(rest) + text)
        yield from whole
        rest = [last]
    text = "".join(rest) + decoder.decode(b"", final=True)
    yield from LINE_END.split(text.removesuffix("\r"))
