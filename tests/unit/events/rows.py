"""Rows of the event tables as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A stored event."""

    correlation_id: UUID
    number: int
    run_id: UUID
    at: datetime
    kind: str
    mission: str
    recording: str
    content: str
    hash: bytes
    tag: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadRow:
    """The end of a stored chain."""

    count: int
    hash: bytes
