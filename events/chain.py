"""The event chain, recomputed outside the database. Pure: what is checked is what is stored (ruling 24).

`events.migrations.0002` holds the same formula in SQL; a test keeps the two equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Protocol
from uuid import UUID

DOMAIN = "liyagent/event/v1"
SEPARATOR = "\x1f"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class StoredEvent(Protocol):
    """An event's row as the database gives it. `at` is aware; `content` the stored text, never parsed."""

    @property
    def correlation_id(self) -> UUID: ...
    @property
    def number(self) -> int: ...
    @property
    def run_id(self) -> UUID: ...
    @property
    def at(self) -> datetime: ...
    @property
    def kind(self) -> str: ...
    @property
    def mission(self) -> str: ...
    @property
    def recording(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def hash(self) -> bytes | memoryview: ...


class StoredHead(Protocol):
    """Where the database says that the chain ends."""

    @property
    def count(self) -> int: ...
    @property
    def hash(self) -> bytes | memoryview: ...


class BreakReason(StrEnum):
    """What is wrong at the first event that does not verify."""

    OTHER_CHAIN = "other_chain"
    OUT_OF_ORDER = "out_of_order"
    CHANGED = "changed"
    CUT_OFF = "cut_off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """The number that was expected where the chain first fails to verify, and why it does."""

    number: int
    reason: BreakReason


def genesis_hash(correlation_id: UUID) -> bytes:
    """Return the hash before the first event: a new chain's head starts with count 0 and this."""
    return hashlib.sha256(f"{DOMAIN}{correlation_id}".encode()).digest()


def event_hash(
    previous: bytes,
    *,
    correlation_id: UUID,
    number: int,
    run_id: UUID,
    at: datetime,
    kind: str,
    mission: str,
    recording: str,
    content: str,
) -> bytes:
    """Return the hash of an event that follows one with the hash `previous`, over its stored text."""
    microseconds = (at - EPOCH) // MICROSECOND
    it = SEPARATOR
    text = f"{DOMAIN}{it}{correlation_id}{it}{number}{it}{run_id}{it}{microseconds}{it}{kind}{it}{mission}{it}{recording}{it}{content}"
    return hashlib.sha256(previous + text.encode()).digest()


@dataclass(slots=True)
class ChainReader:
    """Reads a chain in order, one event at a time. `number` and `previous` are of the last event that verified."""

    correlation_id: UUID
    number: int = 0
    previous: bytes = b""

    def __post_init__(self) -> None:
        """Begin before the first event."""
        self.previous = self.previous or genesis_hash(self.correlation_id)

    def see(self, row: StoredEvent) -> Break | None:
        """Take the next event; what it breaks, None where it follows. After a break, read no further."""
        number = self.number + 1
        reason = _wrong_with(
            row, correlation_id=self.correlation_id, number=number, previous=self.previous
        )
        if reason is not None:
            return Break(number=number, reason=reason)
        self.number, self.previous = number, bytes(row.hash)
        return None

    def end(self, head: StoredHead) -> Break | None:
        """Compare with where the chain is said to end; what was cut off at the end is seen here alone."""
        if (head.count, bytes(head.hash)) != (self.number, self.previous):
            return Break(number=self.number + 1, reason=BreakReason.CUT_OFF)
        return None


def first_break(
    rows: Iterable[StoredEvent], *, correlation_id: UUID, head: StoredHead | None = None
) -> Break | None:
    """Return where the chain, read in order from its first event, stops to verify; None when it is intact.

    Only with `head` are events missed that were cut off at the end. *Intact* is not *complete*: a `gap`
    event in an intact chain tells of events that were never written (ruling 26).
    """
    reader = ChainReader(correlation_id)
    for row in rows:
        if (found := reader.see(row)) is not None:
            return found
    return reader.end(head) if head is not None else None


def _wrong_with(
    row: StoredEvent, *, correlation_id: UUID, number: int, previous: bytes
) -> BreakReason | None:
    if row.correlation_id != correlation_id:
        return BreakReason.OTHER_CHAIN
    if row.number != number:
        return BreakReason.OUT_OF_ORDER
    expected = event_hash(
        previous,
        correlation_id=correlation_id,
        number=number,
        run_id=row.run_id,
        at=row.at,
        kind=row.kind,
        mission=row.mission,
        recording=row.recording,
        content=row.content,
    )
    return None if bytes(row.hash) == expected else BreakReason.CHANGED
