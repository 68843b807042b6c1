"""Plain aligned text for the command line."""

from __future__ import annotations

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
    """Return a value on one line; control characters, which could move the cursor, are left out."""
    if value is None or value == "":
        return "-"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}Z"
    text = " ".join(clean_text(str(value)).split())
    return "".join(letter for letter in text if letter.isprintable())
