"""Two verdicts on a chain, *intact* and *complete*, told in one pass and in bounded memory. Pure (ruling 26).

**Intact**: nothing that is stored was changed, dropped, put in, doubled or reordered since it was written, as far as hashes,
tags, the head and its seal can tell; else the first break, with its number, a reason and a sentence. **Complete**: nothing
that should have been written is known to be missing; else what is. **Open**: a run of the chain has not ended yet, so that
more will come. A chain can be intact and not complete: events that a flush dropped are told by a `gap`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from events.chain import BreakReason, ChainReader, StoredEvent, StoredHead
from events.completeness import Completeness, Lack, RunFacts
from events.content import content_of, whole_number
from events.tags import BESIDE, RecordKey, is_of, read_tag

# Beside `gap`, what SQL alone writes, without a key: decisions that give no leave for anything (`events.tags`).
UNTAGGED_DECISIONS = ("expired", "withdrawn")

SENTENCES: dict[str, str] = {
    BreakReason.OTHER_CHAIN: "this event is of another chain",
    BreakReason.OUT_OF_ORDER: "this event is not the next one: one was dropped, doubled or moved",
    BreakReason.CHANGED: "this event, or one before it, is not what was hashed when it was written",
    BreakReason.CUT_OFF: "the chain does not end where its head says: its end was cut off, or the head put back",
    "untagged": "this event bears no tag: whoever wrote it had no key of ours",
    "forged": "the tag of this event is not its own: whoever wrote it had no key of ours",
    "unknown_key": "the key that tagged this event is not among LIYAGENT_SEAL_KEYS: put it back to check the event",
    "doubled": "an event with this tag stands before it: it was put in a second time, or moved",
    "left_out": "events of this attempt before this one are not here, and no gap tells of them",
    "no_head": "the chain has events and no head: the head was removed",
    "gone": "nothing is recorded of it any more, and no certificate tells that it was purged: its record was removed",
}


class Row(StoredEvent, Protocol):
    """An event's row with its tag."""

    @property
    def tag(self) -> bytes | memoryview: ...


class Head(StoredHead, Protocol):
    """The head's row. `sealed_count` events stood when it was sealed last, 0 for never."""

    @property
    def untagged(self) -> int: ...
    @property
    def sealed_count(self) -> int: ...
    @property
    def sealed_in(self) -> int | None: ...
    @property
    def seal(self) -> bytes | memoryview: ...
    @property
    def seal_key(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Where and why a chain is not intact. `number` is the event that was expected there."""

    number: int
    reason: str
    sentence: str


# What the seal on a head says: the head, and the stored hash of its event number `sealed_count`, None where there is none
# any more. Returns what is wrong, None where nothing is.
SealCheck = Callable[[Head, UUID, bytes | None], Found | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a chain was found to be. `broken` is None where it is intact; `lacks` is bounded, `lacks_more` says so."""

    correlation_id: UUID
    events: int
    broken: Found | None
    lacks: tuple[Lack, ...]
    lacks_more: bool
    is_open: bool

    @property
    def is_intact(self) -> bool:
        """Whether nothing was changed."""
        return self.broken is None

    @property
    def is_complete(self) -> bool:
        """Whether nothing is known to be missing."""
        return not self.lacks


@dataclass(slots=True, kw_only=True)
class Judge:
    """Reads the events of one chain in order, then tells the verdict. It remembers counters, never events.

    A chain that was purged has no head and no events, and is not judged: `events.reading.purged_among` knows.
    """

    correlation_id: UUID
    head: Head | None
    keys: Sequence[RecordKey]
    completeness: Completeness
    seal: SealCheck | None = None
    broken: Found | None = None
    seen: int = 0
    _chain: ChainReader = field(init=False)
    _sealed_hash: bytes | None = None
    # By run: the attempt that wrote last, and which ordinal it writes next.
    _next: dict[UUID, tuple[int, int]] = field(default_factory=dict)
    _beside: set[tuple[UUID, int]] = field(default_factory=set)
    # By run: ordinals that are not here, less what gaps have told of.
    _owed: dict[UUID, int] = field(default_factory=dict)
    _has_tags: bool = False

    def __post_init__(self) -> None:
        """Begin before the first event."""
        self._chain = ChainReader(self.correlation_id)

    def see(self, row: Row) -> None:
        """Take the next event."""
        self.seen += 1
        self.completeness.see(row)
        if self.broken is not None:
            return
        if (found := self._chain.see(row)) is not None:
            self._break(found.number, found.reason)
            return
        if self.head is not None and row.number == self.head.sealed_count:
            self._sealed_hash = self._chain.previous
        self._check_tag(row)

    def verdict(self) -> Verdict:
        """Tell what the chain is, after its last event."""
        if self.broken is None:
            self._check_end()
        lacks, has_more = self.completeness.lacks()
        return Verdict(
            correlation_id=self.correlation_id,
            events=self.seen,
            broken=self.broken,
            lacks=lacks,
            lacks_more=has_more,
            is_open=self.completeness.is_open,
        )

    def _check_end(self) -> None:
        if self.head is None:
            self._break(self.seen + 1, "no_head" if self.seen else "gone")
            return
        if (found := self._chain.end(self.head)) is not None:
            self._break(found.number, found.reason)
        elif self.seal is not None:
            self.broken = self.seal(self.head, self.correlation_id, self._sealed_hash)

    def _check_tag(self, row: Row) -> None:
        tag = read_tag(row.tag)
        if tag is None:
            self._check_untagged(row)
            return
        fits = is_of(
            tag,
            self.keys,
            correlation_id=row.correlation_id,
            run_id=row.run_id,
            kind=row.kind,
            mission=row.mission,
            content=row.content,
        )
        self._has_tags = True
        if not fits:
            self._break(row.number, "unknown_key" if fits is None else "forged")
        elif tag.attempt == BESIDE:
            self._check_beside(row, tag.ordinal)
        else:
            self._check_ordinal(row, tag.attempt, tag.ordinal)

    def _check_untagged(self, row: Row) -> None:
        if bytes(row.tag):
            self._break(row.number, "forged")
        elif row.kind == "gap":
            told = whole_number(content_of(row.content).get("missing"))
            self._owed[row.run_id] = self._owed.get(row.run_id, 0) - told
        elif is_of_nobody(row):
            return
        elif self._is_of_before(row):
            self.completeness.see_untagged(row)
        else:
            self._break(row.number, "untagged")

    def _is_of_before(self, row: Row) -> bool:
        """Whether it is of a release that made no tags: these stand before all that has one."""
        is_old = self.head is not None and row.number <= self.head.untagged
        return is_old and not self._has_tags

    def _check_beside(self, row: Row, ordinal: int) -> None:
        if (row.run_id, ordinal) in self._beside:
            self._break(row.number, "doubled")
        self._beside.add((row.run_id, ordinal))

    def _check_ordinal(self, row: Row, attempt: int, ordinal: int) -> None:
        """In each attempt 0, 1, 2…; whoever took a run over never lets the one before write again (ruling 5)."""
        last, expected = self._next.get(row.run_id, (attempt, 0))
        if attempt > last:
            expected = 0
        if attempt < last or ordinal < expected:
            self._break(row.number, "doubled")
            return
        self._next[row.run_id] = (attempt, ordinal + 1)
        missing = ordinal - expected
        if missing:
            owed = self._owed.get(row.run_id, 0) + missing
            self._owed[row.run_id] = owed
            if owed > 0:
                self._break(row.number, "left_out")

    def _break(self, number: int, reason: str) -> None:
        self.broken = Found(number=number, reason=reason, sentence=SENTENCES[reason])


def verdict_of(
    rows: Iterable[Row],
    *,
    correlation_id: UUID,
    head: Head | None,
    keys: Sequence[RecordKey],
    runs: Iterable[RunFacts] = (),
    seal: SealCheck | None = None,
) -> Verdict:
    """Read a chain from its first event, in order, and tell whether it is intact, complete and open.

    `head` and `runs` (what the rows of its runs say) are of the same moment as `rows`. Without `seal`, seals are not looked at.
    """
    judge = Judge(
        correlation_id=correlation_id,
        head=head,
        keys=keys,
        completeness=Completeness.of(runs),
        seal=seal,
    )
    for row in rows:
        judge.see(row)
    return judge.verdict()


def is_of_nobody(row: StoredEvent) -> bool:
    """Whether it is a decision that nobody made: it ran out, or its run ended. SQL writes these, without a tag."""
    return (
        row.kind == "approval.decided"
        and content_of(row.content).get("decision") in UNTAGGED_DECISIONS
    )
