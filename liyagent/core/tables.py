"""Plain aligned text for the command line."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import datetime

from liyagent.core.plain import clean_text

# Letters that count as printable and are seen as nothing, or as a gap.
INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)


def aligned(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return rows under their heads in columns; a missing value is `-`, a time is in UTC to the second."""
    texts = [list(heads), *([cell(value) for value in row] for row in rows)]
    widths = [max(len(line[column]) for line in texts) for column in range(len(heads))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in texts
    )


def cell(value: object) -> str:
    """Return a value on one line, nothing in it that could move the cursor."""
    if value is None or value == "":
        return "-"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}Z"
    return visible(" ".join(clean_text(str(value)).split()))


def visible(text: str) -> str:
    """Return text with what controls, turns the direction or is not seen written out, lines and spaces kept."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(it if _is_seen(it) else it.encode("unicode_escape").decode() for it in text)


def _is_seen(letter: str) -> bool:
    if letter in INVISIBLE:
        return False
    return letter.isprintable() or letter in "\n\t" or unicodedata.category(letter) == "Zs"
