"""How a module of the trials is run where Django is set up."""

from __future__ import annotations

import sys


def within(module: str, *arguments: str) -> list[str]:
    """Return the command that runs `module` so."""
    return [sys.executable, "-m", "tests.trials.cuts.within", module, *arguments]
