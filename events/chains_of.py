"""Which chain an id leads to: a run's, asked of the room that has the runs, or a correlation id itself."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from events.models import EventHead, RunEvent
from liyagent.core.errors import BadInput, NotFound
from liyagent.core.tables import visible

# The chain of a run, None where there is no such run.
CHAIN_OF_RUN: list[Callable[[UUID], UUID | None]] = []


def chain_named(text: str) -> UUID:
    """Return the chain that a run's id or a correlation id leads to. Raises `BadInput`, `NotFound`."""
    try:
        asked = UUID(text)
    except ValueError:
        raise BadInput(
            f"{visible(text)[:80]!r} is no id; it wants a run's or a correlation id"
        ) from None
    for chain_of in CHAIN_OF_RUN:
        if (chain := chain_of(asked)) is not None:
            return chain
    has_head = EventHead.objects.filter(correlation_id=asked).exists()
    if not has_head and not RunEvent.objects.filter(correlation_id=asked).exists():
        raise NotFound(f"no run and no chain has the id {asked}")
    return asked
