"""Whether all that should have been written of a chain's runs is there. Pure; beside the verdict *intact* (ruling 26)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from uuid import UUID

from events.chain import StoredEvent
from events.content import quick_content, some_list, some_text, whole_number

MOST_LACKS = 20
ANSWERED, APPROVED = "answered", "approved"
# What a call that left came to.
MADE = ("done", "unknown")
COUNTERS = ("steps", "calls", "input_tokens", "output_tokens", "cost_micros")

SENTENCES = {
    "gap": "{count} events were never written: their flush failed, and this gap tells of it",
    "owed": "{count} events were never written, and the gap that tells of them is not written yet",
    "no_start": "it has events, and none that tells of its start",
    "no_end": "it has ended, and no event tells of its end",
    "no_row": "no row says whether it has ended, and no event tells of its end",
    "ended_early": "an event tells of its end, and its row says that it goes on",
    "counters": "{name} are {told} by its events, and {counted} by the count at its end",
    "before_tags": "{count} events bear no tag, and its head says that they are of before there were tags: nothing shows who wrote them",
    "decision": "the call of request {approval} was made, and no event tells that somebody approved it",
    "calls": "{count} calls that its steps asked for have no event that tells what became of them",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What a run's row says, at the moment at which its events were read. `owed`: events whose gap is not written yet.

    `counts_from` is how many steps and calls were on its head before anything of it was told: of a run made for one approved call.
    """

    run_id: UUID
    is_ended: bool
    owed: int = 0
    counts_from: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """Something that is not there, and of which run. `number` is the event that tells so, None where none does."""

    run_id: UUID
    reason: str
    sentence: str
    number: int | None = None


@dataclass(slots=True)
class Counted:
    """What the events of one run came to so far. `open`: calls that were asked for and not told of."""

    is_started: bool = False
    is_told: bool = False
    ended: Mapping[str, Any] | None = None
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0))
    open: set[tuple[int, int]] = field(default_factory=set)


@dataclass(slots=True)
class Completeness:
    """Counts the events of a chain, run by run, and compares with what the runs' rows say."""

    facts: Mapping[UUID, RunFacts]
    runs: dict[UUID, Counted] = field(default_factory=dict)
    found: list[Lack] = field(default_factory=list)
    # Requests that somebody approved, and, by request, the run in which its call was made.
    approved: set[str] = field(default_factory=set)
    made: dict[str, UUID] = field(default_factory=dict)
    untagged: Counter[UUID] = field(default_factory=Counter)

    @classmethod
    def of(cls, runs: Iterable[RunFacts]) -> Completeness:
        """Begin, with what the rows of the chain's runs say."""
        return cls({it.run_id: it for it in runs})

    @property
    def is_open(self) -> bool:
        """Whether a run of the chain has not ended yet."""
        return any(not it.is_ended for it in self.facts.values())

    def see(self, row: StoredEvent) -> None:
        """Take the next event."""
        run = self.runs.get(row.run_id)
        if run is None:
            run = self.runs[row.run_id] = Counted()
        match row.kind:
            case "gap":
                count = whole_number(quick_content(row.content).get("missing"))
                self._lack(row.run_id, "gap", number=row.number, count=count)
            case "run.started":
                run.is_started = True
            case "step":
                run.is_told = True
                _count_step(run, quick_content(row.content))
            case "tool.call":
                run.is_told = True
                self._see_call(run, row)
            case "approval.decided":
                told = quick_content(row.content)
                if told.get("decision") == APPROVED:
                    self.approved.add(some_text(told.get("approval")))
            case "run.resumed":
                run.is_told = True
            case "run.ended":
                run.ended = quick_content(row.content)
            case _:
                pass

    def see_untagged(self, row: StoredEvent) -> None:
        """Take note of an event that bears no tag, and need not."""
        self.untagged[row.run_id] += 1

    def lacks(self) -> tuple[tuple[Lack, ...], bool]:
        """Return what is missing, at most 20 things, and whether there are more."""
        for run_id, run in self.runs.items():
            self._check(run_id, run)
        for facts in self.facts.values():
            self._check_row(facts)
        for run_id, count in self.untagged.items():
            self._lack(run_id, "before_tags", count=count)
        for approval, run_id in self.made.items():
            if approval not in self.approved:
                self._lack(run_id, "decision", approval=approval)
        return tuple(islice(self.found, MOST_LACKS)), len(self.found) > MOST_LACKS

    def _see_call(self, run: Counted, row: StoredEvent) -> None:
        told = quick_content(row.content)
        run.open.discard((whole_number(told.get("step")), _index(told)))
        approval = some_text(told.get("approval"))
        if approval and told.get("fate") in MADE:
            self.made[approval] = row.run_id

    def _check(self, run_id: UUID, run: Counted) -> None:
        if not run.is_started and (run.is_told or run.ended is not None):
            self._lack(run_id, "no_start")
        if run.ended is None:
            if run_id not in self.facts:
                self._lack(run_id, "no_row")
            return
        facts = self.facts.get(run_id)
        before = facts.counts_from if facts else {}
        for name in COUNTERS:
            if name not in run.ended:
                continue
            counted = whole_number(run.ended[name])
            told = run.counts[name] + before.get(name, 0)
            # More than was counted is nothing that is missing: a run that is not written ahead counts at its end alone.
            if told < counted:
                self._lack(run_id, "counters", name=name, told=told, counted=counted)
        if run.ended.get("status") == ANSWERED and run.open:
            self._lack(run_id, "calls", count=len(run.open))

    def _check_row(self, facts: RunFacts) -> None:
        run = self.runs.get(facts.run_id)
        has_end = run is not None and run.ended is not None
        if facts.is_ended and not has_end:
            self._lack(facts.run_id, "no_end")
        if has_end and not facts.is_ended:
            self._lack(facts.run_id, "ended_early")
        if facts.owed:
            self._lack(facts.run_id, "owed", count=facts.owed)

    def _lack(self, run_id: UUID, reason: str, *, number: int | None = None, **facts: Any) -> None:
        if len(self.found) <= MOST_LACKS:
            sentence = SENTENCES[reason].format(**facts)
            self.found.append(Lack(run_id=run_id, reason=reason, sentence=sentence, number=number))


def _count_step(run: Counted, told: Mapping[str, Any]) -> None:
    asked = some_list(told.get("calls"))
    run.counts["steps"] += 1
    run.counts["calls"] += len(asked)
    for name in COUNTERS[2:]:
        run.counts[name] += whole_number(told.get(name))
    number = whole_number(told.get("step"))
    run.open.update((number, index) for index in range(len(asked)))


def _index(told: Mapping[str, Any]) -> int:
    index = told.get("index")
    return index if isinstance(index, int) else -1
