"""What is looked at once a run has ended, in the process that ended it: filled in by `AppConfig.ready()`."""

from __future__ import annotations

from collections.abc import Callable

from runs.models import Run, RunStatus

# Each takes the run and how it ended, behind the commit of its end, and never raises: a sweep finds what it left.
BEHIND_END: list[Callable[[Run, RunStatus], None]] = []


def look_behind(run: Run, status: RunStatus) -> None:
    """Call each of them."""
    for look in BEHIND_END:
        look(run, status)
