"""Chains as processes write them: tagged, hashed and with the head that belongs to them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from events.chain import event_hash, genesis_hash
from events.completeness import RunFacts
from events.tags import BESIDE, SEPARATOR, Tagger, record_key
from events.verdict import SealCheck, Verdict, verdict_of
from tests.unit.events.rows import Event

CHAIN, RUN, CHILD = (UUID(int=0x0190F5FE7C007A008000000000000000 + it) for it in range(3))
AT = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
KEY, ANOTHER = record_key(b"k" * 32), record_key(b"o" * 32)
STARTED = {
    "agent": "a",
    "version": 1,
    "entry": "api",
    "started_by": "olga",
    "holder": "h",
    "task": "t",
}
NO_TOKENS = {"input_tokens": 1, "output_tokens": 1, "cost_micros": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A head as it is stored."""

    count: int
    hash: bytes
    untagged: int = 0
    sealed_count: int = 0
    sealed_in: int | None = None
    seal: bytes = b""
    seal_key: str = ""


@dataclass(slots=True)
class Writer:
    """Writes events as attempts of runs do."""

    key: Any = KEY
    mission: str = "INC-1"
    events: list[Event] = field(default_factory=list)
    taggers: dict[tuple[UUID, int], Tagger] = field(default_factory=dict)

    def write(
        self, kind: str, content: Any, *, run: UUID = RUN, attempt: int = 1, is_tagged: bool = True
    ) -> Event:
        """Append one event; `dropped` takes it out again, as a failed flush does."""
        tagger = self.taggers.setdefault(
            (run, attempt),
            Tagger(
                key=self.key,
                correlation_id=CHAIN,
                run_id=run,
                mission=self.mission,
                attempt=attempt,
            ),
        )
        text, _, tag = tagger.line(kind, json.dumps(content)).partition(SEPARATOR)
        self.events.append(
            Event(
                correlation_id=CHAIN,
                number=len(self.events) + 1,
                run_id=run,
                at=AT + timedelta(seconds=len(self.events)),
                kind=kind,
                mission=self.mission,
                recording="full",
                content=text,
                hash=b"",
                tag=bytes.fromhex(tag) if is_tagged else b"",
            )
        )
        return self.events[-1]

    def beside(self, kind: str, content: Any) -> Event:
        """Append what a person's decision tells."""
        return self.write(kind, content, attempt=BESIDE)

    def gap(self, missing: int) -> Event:
        """Append what SQL writes of events that it dropped."""
        return self.write("gap", {"missing": missing}, attempt=0, is_tagged=False)


def a_run() -> Writer:
    """A run of two steps with a call, taken over once, and answered."""
    it = Writer()
    it.write("run.started", STARTED)
    it.write("step", {"step": 1, "finish": "calls", **NO_TOKENS, "calls": ["v/t"], "text": ""})
    it.beside("approval.decided", {"approval": "a-1", "decision": "approved"})
    it.write("run.resumed", {"attempt": 2, "losses": 1}, attempt=2)
    it.write("tool.call", {"step": 1, "index": 0, "fate": "done", "approval": "a-1"}, attempt=2)
    it.write("step", {"step": 2, "finish": "stop", **NO_TOKENS, "calls": [], "text": ""}, attempt=2)
    ended = {"steps": 2, "calls": 1, "input_tokens": 2, "output_tokens": 2, "cost_micros": 0}
    it.write("run.ended", {"status": "answered", **ended}, attempt=2)
    return it


def hashed(events: Iterable[Event]) -> list[Event]:
    """Number the events anew and give each the hash that it has behind the one before."""
    found: list[Event] = []
    previous = genesis_hash(CHAIN)
    for number, event in enumerate(events, 1):
        previous = event_hash(
            previous,
            correlation_id=event.correlation_id,
            number=number,
            run_id=event.run_id,
            at=event.at,
            kind=event.kind,
            mission=event.mission,
            recording=event.recording,
            content=event.content,
        )
        found.append(replace(event, number=number, hash=previous))
    return found


def head_of(events: Sequence[Event], **facts: Any) -> Head:
    """The head that belongs to these events."""
    last = events[-1].hash if events else genesis_hash(CHAIN)
    return Head(count=len(events), hash=last, **facts)


def verdict(
    events: Sequence[Event],
    *,
    head: Head | None = None,
    facts: Iterable[RunFacts] = (RunFacts(run_id=RUN, is_ended=True),),
    keys: Sequence[Any] = (ANOTHER, KEY),
    seal: SealCheck | None = None,
) -> Verdict:
    """Judge these events as a stored chain."""
    return verdict_of(
        events,
        correlation_id=CHAIN,
        head=head or head_of(events),
        keys=keys,
        runs=facts,
        seal=seal,
    )
