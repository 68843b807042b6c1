"""Ids of runs and requests."""

from __future__ import annotations

from uuid import UUID

from liyagent.core.ids import new_id


def new_run_id(*, above: UUID | None = None) -> UUID:
    """Return a UUIDv7 (RFC 9562): ids sort by the time they were made, and this one behind `above`."""
    return new_id(above=above)
