"""What a decision sets going in the rooms above, by kind of request: filled in by their `AppConfig.ready()`."""

from __future__ import annotations

from collections.abc import Callable

from liyagent.approvals.models import Approval

Decided = Callable[[Approval], None]

# Called in the transaction of the decision, whatever it was; what it raises undoes the decision.
HANDLERS: dict[str, Decided] = {}
