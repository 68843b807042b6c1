"""Who types a command: the name that the audit row of its change bears."""

from __future__ import annotations

import getpass
import os


def operator_name() -> str:
    """Return `cli:<user of this machine>`; where the user has no name, as in a container, its number."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        return f"cli:uid {os.getuid()}"
