"""Who types a command: the name that the audit row of its change bears."""

from __future__ import annotations

import getpass
from pathlib import Path

from liyagent.core.errors import BadInput


def operator_name() -> str:
    """Return `cli:<user of this machine>`."""
    return f"cli:{getpass.getuser()}"


def read_text(path: str) -> str:
    """Return the text of a file. Raises `BadInput` naming it."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from error
