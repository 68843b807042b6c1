"""Who asks by a request of MCP, and what of it the verbs want to know."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from liyagent.core.traceparent import TRACEPARENT, clean_traceparent
from missions.carry import mission_named
from missions.context import Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A user behind an API key, and what both may do together."""

    username: str
    sees_all: bool
    reads_words: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request that was let in. `stamp` is that of its headers; `caller_now` asks anew, None where it is let in no more.

    `begun` is set once nothing of a call can be lost any more by its caller's hanging up.
    """

    caller: Caller
    stamp: Stamp
    caller_now: Callable[[], Caller | None]
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    def stamp_with(self, meta: object) -> Stamp:
        """Return the stamp of a message with that `_meta`: what the request's headers do not name is looked for there (FL-98)."""
        named = meta.get(TRACEPARENT) if isinstance(meta, Mapping) else None
        return replace(
            self.stamp,
            mission=mission_named(self.stamp.mission, "", meta),
            traceparent=self.stamp.traceparent or clean_traceparent(named),
        )
