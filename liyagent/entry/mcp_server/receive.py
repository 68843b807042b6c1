"""Receive a call: an arrival kept before anything else, and its run started; sent again with its key it is the same (ruling 29)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.db.models import Q, QuerySet

from liyagent.agents.channels import ANY
from liyagent.agents.models import Agent
from liyagent.core.canonical import digest
from liyagent.core.errors import BadInput
from liyagent.entry.arrive import Arriving, arrive
from liyagent.entry.begin import begin_arrival
from liyagent.entry.mcp_server.asked import Asked
from liyagent.entry.mcp_server.errors import CallKeyReused, NoSuchTool, TooManyOpen
from liyagent.entry.models import Arrival, ArrivalState
from missions.context import stamped

WAY = "mcp"
# Where a caller names its call, so that sent again it is the same; the second is what our own gateway sends with each.
KEYS = ("io.liyagent/key", "io.liyagent/step-key")
KEY = re.compile(r"[\x21-\x7e]{1,255}")
# Of one caller's calls whose runs have not ended; a further one is told to come later, before anything of it is kept.
MOST_OPEN = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Taking:
    """One call: which agent is asked what, and by which `_meta`."""

    agent_key: str
    task: str
    history: list[dict[str, str]]
    meta: Mapping[str, Any]


def take_call(asked: Asked, taking: Taking) -> UUID:
    """Return the run of a call: a new one, or the one that the same key of the same caller began before.

    Raises `NoSuchTool`, `TooManyOpen`, `BadInput` for a key that is none, `CallKeyReused` where the key said something else
    before. Whether the run could be started tells the arrival.
    """
    words = {"task": taking.task, "history": taking.history}
    delivery_id, stamp = _delivery_id(asked, taking), asked.stamp_with(taking.meta)
    known = Arrival.objects.filter(way=WAY, source=taking.agent_key, delivery_id=delivery_id)
    if not known.exists():
        check_tool(taking.agent_key)
        _check_burst(asked.caller.username)
    with stamped(stamp):
        arrived = arrive(
            Arriving(
                way=WAY,
                source=taking.agent_key,
                delivery_id=delivery_id,
                agent_key=taking.agent_key,
                started_by=asked.caller.username,
                words=words,
                mission=stamp.mission,
                request_id=stamp.request_id,
                body_digest=digest(words),
            )
        )
        if not arrived.is_new and not known.filter(body_digest=digest(words)).exists():
            raise CallKeyReused(run_id=arrived.run_id)
        begin_arrival(arrived.run_id)
    return arrived.run_id


def open_agents() -> QuerySet[Agent]:
    """Return the agents that may be asked by MCP, in the order of their keys."""
    is_open = Q(channels__contains=[WAY]) | Q(channels__contains=[ANY])
    return Agent.objects.filter(is_open, is_enabled=True).order_by("key")


def check_tool(key: str) -> None:
    """Raise `NoSuchTool` where no agent of that key may be asked by MCP."""
    if not open_agents().filter(key=key).exists():
        raise NoSuchTool(tool=key)


def _delivery_id(asked: Asked, taking: Taking) -> str:
    named = [it for it in KEYS if it in taking.meta]
    if not named:
        return str(uuid4())
    key = taking.meta[named[0]]
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise BadInput("the key in _meta wants 1 to 255 visible ASCII characters")
    return digest([asked.caller.username, key])


def _check_burst(username: str) -> None:
    states = [ArrivalState.RECEIVED, ArrivalState.STARTED]
    of_caller = Arrival.objects.filter(way=WAY, state__in=states, started_by=username).order_by()
    if of_caller.values("pk")[:MOST_OPEN].count() >= MOST_OPEN:
        raise TooManyOpen(f"{MOST_OPEN} calls of yours are open; nothing of this one was kept")
