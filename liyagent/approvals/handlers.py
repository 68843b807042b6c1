"""What a decision sets going in the rooms above, by kind of request: filled in by their `AppConfig.ready()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CALL = "call"
# Takes the `Approval` as it stands decided; the apps' registry is not ready where this is imported.
Decided = Callable[[Any], None]

# Called in the transaction of the decision, whatever it was; what it raises undoes the decision.
HANDLERS: dict[str, Decided] = {}
