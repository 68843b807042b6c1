"""The ways in by which a run may be started, and whether an agent permits one."""

from __future__ import annotations

from collections.abc import Collection

CHANNELS = (
    "api",
    "cli",
    "seed",
    "inspector",
    "playground",
    "a2a",
    "cron",
    "teams",
    "webhook",
    "ticket",
    "copilot",
    "mcp",
)
# What comes in by these is kept as an arrival of its own before its run is started.
WITH_ARRIVALS = ("a2a", "cron", "teams", "webhook", "ticket", "copilot", "mcp")
ANY = "*"


def is_open(channels: Collection[str], entry: str) -> bool:
    """Whether an agent with `channels` permits runs that came in by `entry`."""
    return ANY in channels or entry in channels
