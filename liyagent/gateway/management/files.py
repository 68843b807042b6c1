"""What a command reads."""

from __future__ import annotations

from pathlib import Path

from liyagent.core.errors import BadInput


def read_text(path: str) -> str:
    """Return the text of a file. Raises `BadInput` naming it."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from error
