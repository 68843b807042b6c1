"""Send a call by its server's transport, once, and say what became of it. Nothing here retries a write."""

from __future__ import annotations

import time
from dataclasses import replace

from liyagent.core.metrics import TOOL_CALLS
from liyagent.gateway import a2a, mcp
from liyagent.gateway.contracts import address_of
from liyagent.gateway.local import call_local
from liyagent.gateway.models import Transport
from liyagent.gateway.outcome import Fate, MaySend, Outcome, Payload


def send(payload: Payload, may_send: MaySend) -> Outcome:
    """Send exactly `payload` and return its fate, result or error, and duration.

    `may_send` is asked right before the bytes leave. DONE and FAILED are certain; UNKNOWN means that
    a write may have happened (ruling 22). Raises `NotSent` where `may_send` said no: not a byte left.
    """
    started = time.monotonic()
    outcome = _send(payload, may_send)
    seconds = time.monotonic() - started
    TOOL_CALLS.of(payload.server, outcome.fate.value).observe(seconds)
    return replace(outcome, duration_ms=round(seconds * 1000))


def open_way(server: str) -> None:
    """Open what a call of `server` will need, before it is marked: the mark then covers the sending alone."""
    address = address_of(server)
    if address is None or address.transport == Transport.LOCAL:
        return
    if address.transport == Transport.A2A:
        a2a.open_way(address)
    else:
        mcp.open_way(address)


def _send(payload: Payload, may_send: MaySend) -> Outcome:
    address = address_of(payload.server)
    if address is None:
        absent = f"not sent: server {payload.server} is not set up or not enabled"
        return Outcome(fate=Fate.FAILED, error=absent)
    if address.transport == Transport.LOCAL:
        return call_local(payload, may_send)
    if address.transport == Transport.A2A:
        return a2a.call(address, payload, may_send)
    return mcp.call(address, payload, may_send)


def warm_up() -> None:
    """Import what the first call by MCP would import."""
    mcp.warm_up()


def close_all() -> None:
    """Shut every transport of this process: calls on their way end in doubt at once (ruling 10)."""
    mcp.close_all()
    a2a.close_all()
