"""Verify chains in a stream, some heads at a time: however many there are, no more than some are in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from uuid import UUID

from events.checking import Asked, Finding, Looked
from events.completeness import Completeness
from events.keys import checking_keys
from events.reading import (
    HeadRow,
    one_moment,
    purged_among,
    read_facts,
    read_heads,
    stream_events,
)
from events.sealing import SEAL_CHECK
from events.tags import RecordKey
from events.verdict import Judge, Verdict

HEADS_AT_ONCE = 500
# Of one moment no more than about so many events are read, so that a long verification holds no old snapshot.
EVENTS_OF_ONE_MOMENT = 50_000
CHECK = "chains"


def check_chains(asked: Asked) -> Iterator[Finding | Looked]:
    """Verify each chain; a finding for each that is broken, and one for each thing that is known to be missing."""
    chains = events = 0
    for chains, verdict in enumerate(verdicts(asked), 1):
        events += verdict.events
        yield from findings_of(verdict)
        yield Looked(check=CHECK, chains=chains, events=events)
    yield Looked(check=CHECK, chains=chains, events=events)


def verdicts(asked: Asked) -> Iterator[Verdict]:
    """Yield the verdict of each chain, in order of their correlation ids."""
    keys = checking_keys()
    first = asked.first
    while True:
        # What is found in one moment is told after it: whoever hears of it may take its time.
        with one_moment():
            heads = _some(read_heads(first, asked.last, limit=HEADS_AT_ONCE))
            last = heads[-1].correlation_id if heads else asked.last
            found = list(_verdicts_between(first, last, heads, keys))
        yield from found
        if not heads or last >= asked.last:
            return
        first = UUID(int=last.int + 1)


def findings_of(verdict: Verdict) -> Iterator[Finding]:
    """Say what is wrong with a chain, one line a thing."""
    chain = f"chain {verdict.correlation_id}"
    if (broken := verdict.broken) is not None:
        where = f"{chain}, event {broken.number}"
        yield Finding(where=where, reason=broken.reason, sentence=broken.sentence)
    for it in verdict.lacks:
        where = f"{chain}, run {it.run_id}"
        yield Finding(where=where, reason=it.reason, sentence=it.sentence, is_break=False)
    if verdict.lacks_more:
        yield Finding(where=chain, reason="more", sentence="and more is missing", is_break=False)


def _some(heads: Sequence[HeadRow]) -> Sequence[HeadRow]:
    """As many as hold about as many events as are read of one moment, one at the least."""
    total = 0
    for index, head in enumerate(heads):
        total += head.count
        if total > EVENTS_OF_ONE_MOMENT:
            return heads[: index + 1]
    return heads


def _verdicts_between(
    first: UUID, last: UUID, heads: Sequence[HeadRow], keys: Sequence[RecordKey]
) -> Iterator[Verdict]:
    """Yield the verdicts of all that lies between: of heads without events, of events without a head, of runs without either."""
    facts = read_facts(first, last)
    left = {it.correlation_id: it for it in heads}

    def judge_of(chain: UUID, head: HeadRow | None) -> Judge:
        return Judge(
            correlation_id=chain,
            head=head,
            keys=keys,
            completeness=Completeness.of(facts.get(chain, ())),
            seal=SEAL_CHECK.check,
        )

    seen = set(left)
    for chain, rows in groupby(stream_events(first, last), key=attrgetter("correlation_id")):
        seen.add(chain)
        judge = judge_of(chain, left.pop(chain, None))
        for row in rows:
            judge.see(row)
        yield judge.verdict()
    for chain, head in left.items():
        yield judge_of(chain, head).verdict()
    gone = facts.keys() - seen
    for chain in sorted(gone - purged_among(gone).keys()):
        yield judge_of(chain, None).verdict()
