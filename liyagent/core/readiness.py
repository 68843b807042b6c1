"""Whether this process should be sent work."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Readiness:
    """Set by `serve`: draining after SIGTERM, and what else keeps the process from working, in words.

    `notes` keep it from nothing, and are told beside: somebody should look.
    """

    is_draining: bool = False
    reasons: set[str] = field(default_factory=set)
    notes: set[str] = field(default_factory=set)


STATE = Readiness()
