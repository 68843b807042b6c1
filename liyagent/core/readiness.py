"""Whether this process should be sent work."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Readiness:
    """Set by `serve`: draining after SIGTERM, and what else keeps the process from working, in words."""

    is_draining: bool = False
    reasons: set[str] = field(default_factory=set)


STATE = Readiness()
