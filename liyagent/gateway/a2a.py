"""Calls of other people's agents over A2A, from any thread: a remote agent is a tool server of three tools (ruling 32)."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any

from liyagent.core.errors import LiyagentError
from liyagent.gateway.a2a_card import Card, tools_of
from liyagent.gateway.contracts import Address
from liyagent.gateway.mcp_session import CatalogueUnreadable, Look
from liyagent.gateway.outcome import MaySend, Outcome, Payload
from liyagent.gateway.running import Running

# What speaks the SDK's language; imported by who asks an agent first.
AGENTS = "liyagent.gateway.a2a_agents"


def call(address: Address, payload: Payload, may_send: MaySend) -> Outcome:
    """Ask the agent once and return what became of it, within the payload's timeout.

    `may_send` is asked in the event loop, so it must not block, right before the message's first byte; where it says
    no, `NotSent` is raised. A message is never sent twice.
    """
    warm_up()
    portal, agents = _running.get()
    outcome: Outcome = portal.call(agents.call, address, payload, may_send)
    return outcome


def open_way(address: Address) -> None:
    """Read the agent's card and fetch its token, unless both are there, so that a call marked after this has a short way."""
    warm_up()
    portal, agents = _running.get()
    if not agents.is_open(address):
        portal.call(agents.open, address)


def list_tools(address: Address) -> list[dict[str, Any]]:
    """Return the tools that the agent's card makes, in the wire form of MCP. Raises `CatalogueUnreadable`."""
    try:
        return look(address).tools
    except CatalogueUnreadable:
        raise
    except LiyagentError as error:
        raise CatalogueUnreadable(f"{address.server}: {error}") from error


def look(address: Address) -> Look:
    """Return what its card says now. Raises `CatalogueUnreadable`, `TokenRefused`, `BadInput`."""
    warm_up()
    portal, agents = _running.get()
    card: Card
    card, seconds = portal.call(agents.look, address)
    return Look(protocol=f"A2A {card.version}", tools=tools_of(card), token_seconds=seconds)


def abandon(step_keys: Collection[str]) -> int:
    """Shut the connections of the messages on their way under these keys; return how many there were (ruling 10)."""
    running = _running.found()
    if running is None:
        return 0
    portal, agents = running
    shut: int = portal.call(agents.interrupt, frozenset(step_keys))
    return shut


def warm_up() -> None:
    """Import the SDK, in the thread that needs it: it takes a second and 25 MB, which a process that asks nobody saves."""
    import_module("a2a.client")
    import_module(AGENTS)


def close_all() -> None:
    """Give up every call and end the event loop; the next call begins anew."""
    _running.close()


async def _agents() -> Any:
    return import_module(AGENTS).Agents()


_running: Running[Any] = Running("a2a", _agents)
