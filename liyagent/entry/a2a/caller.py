"""Who asks, and what of a request the verbs want to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from liyagent.core.traceparent import TRACEPARENT, clean_traceparent
from liyagent.entry.a2a.wire import Version
from missions.carry import mission_named
from runs.stream import Rights


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A user behind an API key, and what both may do together."""

    username: str
    sees_all: bool
    reads_words: bool
    decides: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request. `mission` and `request_id` are those of its headers; `rights_now` asks anew, for long answers."""

    agent_key: str
    caller: Caller
    version: Version
    rpc_id: str | int | None
    params: Mapping[str, Any]
    mission: str
    request_id: str
    traceparent: str
    last_event: int | None
    rights_now: Callable[[], Rights]
    base_url: str


def mission_of(asked: Asked, *metadata: Mapping[str, Any]) -> str:
    """Return the mission that a request names, empty for none: its header's or baggage's, else the message's (FL-98).

    It is looked for in `params._meta`, then in each metadata given, by the rule of all ways in (`missions.carry`).
    """
    return asked.mission or mission_named(None, None, *_looked_in(asked, metadata))


def traceparent_of(asked: Asked, *metadata: Mapping[str, Any]) -> str:
    """Return the caller's place in its trace, found as the mission is; empty for none."""
    named = [it.get(TRACEPARENT) for it in _looked_in(asked, metadata)]
    return next(filter(None, map(clean_traceparent, (asked.traceparent, *named))), "")


def _looked_in(asked: Asked, metadata: tuple[Mapping[str, Any], ...]) -> list[Mapping[str, Any]]:
    """The objects a caller may have written it to: `_meta` is read from the body as it came."""
    meta = asked.params.get("_meta")
    return [it for it in (meta, *metadata) if isinstance(it, Mapping)]
