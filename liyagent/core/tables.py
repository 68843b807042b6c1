"""Plain aligned text for the command line."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import datetime

from liyagent.core.plain import clean_text


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
    """Return text with control characters and those that turn its direction written out, lines and spaces kept."""
    return "".join(
        letter
        if letter.isprintable() or letter in "\n\t" or unicodedata.category(letter) == "Zs"
        else letter.encode("unicode_escape").decode()
        for letter in text
    )
