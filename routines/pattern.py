"""What makes runs be of one pattern: the agent, and the tools that it called, in their order. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from liyagent.core.canonical import digest


def pattern_of(agent_key: str, tools: Sequence[str]) -> str:
    """Return the identity of a pattern: independent of its runs and of what they passed, so that one dismissed stays so (FL-94)."""
    return digest([agent_key, list(tools)])
