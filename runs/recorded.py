"""What was recorded of some runs, read again to be used: chains are judged whole, and what nobody may rely on is told by name.

For those who replay runs and those who learn from them (ruling 26): a run whose chain is broken, has a gap, lacks words or is
checked by a key that is not here is `Unusable`, with the reason, and with the number of the event that shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

from events.completeness import Completeness, RunFacts
from events.content import quick_content, some_text, whole_number
from events.keys import checking_keys
from events.reading import EventRow, HeadRow, purged_among, read_heads_of, stream_chains
from events.sealing import SEAL_CHECK
from events.verdict import Judge
from liyagent.agents.models import Recording
from runs.evidence_facts import facts_of

# Of a longer chain, or of one whose contents come to more, nothing is used.
MOST_EVENTS = 5_000
MOST_SIZE = 8_000_000
BROKEN, INCOMPLETE = "its record is broken", "its record is not complete"
PURGED = "its record was purged"
NO_RECORD = "nothing is recorded of it"
TOO_LONG = "its record is longer than is read again"
NOT_OVER = "its record is not over yet: a run of its family goes on"
NO_WORDS = "words of it are not kept"


class Ref(NamedTuple):
    """A run, and the chain that it is told in."""

    run_id: UUID
    correlation_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A call as its event tells it. `result` is what came back, or the text of the error where its fate is not `done`."""

    step: int
    index: int
    server: str
    tool: str
    effect: str
    fate: str
    posture: str
    settlement: str
    approval: str
    ms: int
    args: Any
    result: Any

    @property
    def name(self) -> str:
        """Which tool of which server."""
        return f"{self.server}/{self.tool}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The events of the run itself, in order, of a chain that is intact, complete and over."""

    run_id: UUID
    correlation_id: UUID
    size: int
    events: Sequence[tuple[str, Mapping[str, Any]]]

    def of_kind(self, kind: str) -> Iterator[Mapping[str, Any]]:
        """Yield what events of a kind tell."""
        return (told for it, told in self.events if it == kind)

    @property
    def started(self) -> Mapping[str, Any]:
        """What its start tells, with the task."""
        return next(self.of_kind("run.started"), {})

    @property
    def ended(self) -> Mapping[str, Any]:
        """What its end tells, with the answer."""
        return next(self.of_kind("run.ended"), {})

    @property
    def calls(self) -> list[RecordedCall]:
        """The calls in their order; of one that is told of twice, because it was filed anew, what came of it at last."""
        told = [_call(it) for it in self.of_kind("tool.call")]
        found = {(it.step, it.index): it for it in told}
        return [found[place] for place in sorted(found)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """A run that nothing is made of, and why: a `reason` of the few that stand above, and what is known more of it.

    `number` is the event that shows it, None where none does.
    """

    run_id: UUID
    reason: str
    detail: str = ""
    number: int | None = None

    def __str__(self) -> str:
        told = f"{self.reason}: {self.detail}" if self.detail else self.reason
        return told if self.number is None else f"{told} (event {self.number})"


@dataclass(slots=True)
class _Reading:
    """One chain while it is read."""

    judge: Judge
    own: UUID
    most_events: int
    size: int = 0
    count: int = 0
    lacks_words: int | None = None
    events: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def see(self, row: EventRow) -> None:
        self.count += 1
        self.size += len(row.content)
        if self.is_too_long:
            self.events.clear()
            return
        self.judge.see(row)
        if row.run_id != self.own:
            return
        told = quick_content(row.content)
        if self.lacks_words is None and _lacks_words(row, told):
            self.lacks_words = row.number
        self.events.append((row.kind, told))

    @property
    def is_too_long(self) -> bool:
        return self.count > self.most_events or self.size > MOST_SIZE


def read_recorded(
    runs: Sequence[Ref], *, most_events: int | None = None
) -> Iterator[Recorded | Unusable]:
    """Yield what was recorded of each of these runs, in no order of theirs. Inside `events.reading.one_moment`.

    Four statements, however many runs there are; one chain is in memory at a time. One of more than `most_events`
    (5,000) is too long.
    """
    most = MOST_EVENTS if most_events is None else most_events
    chains = sorted({it.correlation_id for it in runs})
    heads = {it.correlation_id: it for it in read_heads_of(chains)}
    facts, keys = facts_of(chains), checking_keys()
    wanted: dict[UUID, list[UUID]] = {}
    for ref in runs:
        wanted.setdefault(ref.correlation_id, []).append(ref.run_id)

    def reading_of(chain: UUID, own: UUID) -> _Reading:
        return _Reading(_judge_of(chain, heads.get(chain), facts.get(chain, ()), keys), own, most)

    rows = stream_chains(chains, most=most + 1)
    for chain, events in groupby(rows, key=attrgetter("correlation_id")):
        readings = [reading_of(chain, own) for own in wanted.pop(chain)]
        for row in events:
            for reading in readings:
                reading.see(row)
        for reading in readings:
            yield _found(reading)
    purged = purged_among(wanted)
    for chain, owns in wanted.items():
        for own in owns:
            yield Unusable(run_id=own, reason=PURGED if chain in purged else NO_RECORD)


def _judge_of(
    chain: UUID, head: HeadRow | None, facts: Sequence[RunFacts], keys: Sequence[Any]
) -> Judge:
    return Judge(
        correlation_id=chain,
        head=head,
        keys=keys,
        completeness=Completeness.of(facts),
        seal=SEAL_CHECK.check,
    )


def _found(reading: _Reading) -> Recorded | Unusable:
    own = reading.own
    if reading.is_too_long:
        return Unusable(run_id=own, reason=TOO_LONG)
    verdict = reading.judge.verdict()
    if verdict.broken is not None:
        broken, reason = verdict.broken, BROKEN
        return Unusable(run_id=own, reason=reason, detail=broken.sentence, number=broken.number)
    if verdict.is_open:
        return Unusable(run_id=own, reason=NOT_OVER)
    if verdict.lacks:
        lack, reason = verdict.lacks[0], INCOMPLETE
        return Unusable(run_id=own, reason=reason, detail=lack.sentence, number=lack.number)
    if reading.lacks_words is not None:
        return Unusable(run_id=own, reason=NO_WORDS, number=reading.lacks_words)
    return Recorded(
        run_id=own,
        correlation_id=verdict.correlation_id,
        size=reading.size,
        events=reading.events,
    )


# What is words of each of these (`events.kinds`), and has to be there for the run to be used.
WORDS = {
    "run.started": ("task",),
    "step": ("text",),
    "tool.call": ("args", "result"),
    "run.ended": (),
}


def _lacks_words(row: EventRow, told: Mapping[str, Any]) -> bool:
    """Whether words are not there, or a digest stands for them: of a task that a check refused, too."""
    if row.recording != Recording.FULL and row.kind in WORDS:
        return True
    if any(name not in told for name in WORDS.get(row.kind, ())):
        return True
    return row.kind == "run.started" and not isinstance(told["task"], str)


def _call(told: Mapping[str, Any]) -> RecordedCall:
    texts = ("server", "tool", "effect", "fate", "posture", "settlement", "approval")
    return RecordedCall(
        step=whole_number(told.get("step")),
        index=whole_number(told.get("index")),
        ms=whole_number(told.get("ms")),
        args=told.get("args"),
        result=told.get("result"),
        **{name: some_text(told.get(name)) for name in texts},
    )
