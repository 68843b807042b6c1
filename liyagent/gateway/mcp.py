"""Calls of MCP servers over HTTP, from any thread: one background event loop a process owns the sessions."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any

from liyagent.gateway.contracts import Address
from liyagent.gateway.mcp_resources import Resource
from liyagent.gateway.mcp_session import Look
from liyagent.gateway.mcp_sessions import Sessions
from liyagent.gateway.outcome import MaySend, Outcome, Payload
from liyagent.gateway.running import Running


def call(address: Address, payload: Payload, may_send: MaySend) -> Outcome:
    """Call the tool once and return its fate, within the payload's timeout.

    `may_send` is asked in the event loop, so it must not block, right before the first byte; where it
    says no, `NotSent` is raised. A write is never sent twice; a read is once, if the session was lost.
    """
    portal, sessions = _running.get()
    return portal.call(sessions.call, address, payload, may_send)


def open_way(address: Address) -> None:
    """Open the server's session if there is none, so that a call marked after this has a short way."""
    portal, sessions = _running.get()
    if not sessions.is_open(address):
        portal.call(sessions.open, address)


def list_tools(address: Address) -> list[dict[str, Any]]:
    """Return the server's whole catalogue in its wire form. Raises `CatalogueUnreadable`."""
    portal, sessions = _running.get()
    return portal.call(sessions.list_tools, address)


def list_resources(address: Address) -> list[str]:
    """Return the URIs of everything the server offers to be read. Raises `ResourceUnreadable`."""
    portal, sessions = _running.get()
    return portal.call(sessions.list_resources, address)


def read_resource(address: Address, uri: str) -> Resource:
    """Return one of them. Raises `ResourceUnreadable`, `ResourceGone`."""
    portal, sessions = _running.get()
    return portal.call(sessions.read_resource, address, uri)


def look(address: Address) -> Look:
    """Return what the server says of itself now. Raises `CatalogueUnreadable`, `TokenRefused`, `BadInput`."""
    portal, sessions = _running.get()
    return portal.call(sessions.look, address)


def abandon(step_keys: Collection[str]) -> int:
    """Shut the connections of the calls on their way under these keys; return how many there were.

    Their callers get `NotSent` or an answer in doubt at once: a drained run's send ends here (ruling 10).
    """
    running = _running.found()
    if running is None:
        return 0
    portal, sessions = running
    return portal.call(sessions.interrupt, frozenset(step_keys))


def warm_up() -> None:
    """Import the SDK, which every session needs."""
    import_module("mcp")


def close_all() -> None:
    """Give up every call, close every session and end the event loop; the next call begins anew."""
    _running.close()


async def _sessions() -> Sessions:
    return Sessions()


_running = Running("mcp", _sessions)
