"""How an agent's patterns name other agents that it may hand work to: `agents/<key>`."""

from __future__ import annotations

from collections.abc import Iterable

# The server whose tools are the agents; no tool server may bear its name.
SERVER = "agents"
SUB_AGENTS = f"{SERVER}/"
WILD = frozenset("*?[")


def named_in(patterns: Iterable[str]) -> list[str]:
    """Return the keys of the agents that patterns name one by one; one with a wildcard names nobody."""
    named = (it.removeprefix(SUB_AGENTS) for it in patterns if it.startswith(SUB_AGENTS))
    return [key for key in named if not WILD.intersection(key)]
