"""What the rooms above do with requests, by kind of request: filled in by their `AppConfig.ready()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CALL = "call"
# To begin a failed run again from the start (SG-09).
SAGA = "saga"
# To save a routine as a workflow (RT-05).
ROUTINE = "routine"
# About what is no call, and of no run that waits.
NO_CALLS = frozenset({SAGA, ROUTINE})
# Both take an `Approval`; the apps' registry is not ready where this is imported.
Decided = Callable[[Any], None]
Beside = Callable[[Any], dict[str, Any]]

# What a decision sets going. Called in the transaction of the decision, whatever it was; what it raises undoes the
# decision. A kind that is not here is not decided by this process.
HANDLERS: dict[str, Decided] = {}
# What the room that filed it tells beside a request.
BESIDE: dict[str, Beside] = {}
