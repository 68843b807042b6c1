"""`routine_mining`: go through the runs, then compile one pattern after the other; from its cursor on in any process (CR-06)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings

from liyagent.core.errors import LiyagentError
from liyagent.jobs.handlers import HANDLERS, Handler, Step
from liyagent.jobs.models import Job
from routines.adopt import ACTOR, adopt_routine
from routines.ask import KIND, find_agent
from routines.keep import keep_offer
from routines.offer import Change, Offer, offer_of
from routines.scan import MOST_NAMED, Batch, Place, count_recent, scan
from routines.sightings import add_sightings, forget_sightings, group_of, groups_of

QUEUE = "queue"


@dataclass(slots=True, kw_only=True)
class At:
    """Where a mining is: what the cursor keeps. `new`: routines that were new, of which `filed` were looked at for filing."""

    total: int = -1
    after: dict[str, str] | None = None
    is_scanned: bool = False
    looked_at: int = 0
    counted: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    patterns: int = 0
    compiled: int = 0
    changes: dict[str, int] = field(default_factory=dict)
    new: list[str] = field(default_factory=list)
    filed: int = 0
    is_over: bool = False

    def saw(self, batch: Batch) -> None:
        """Take in what some runs came to."""
        self.looked_at += batch.looked_at
        self.counted += batch.counted
        self.skipped = dict(Counter(self.skipped) + batch.skipped)
        left = MOST_NAMED - len(self.named)
        self.named |= {str(it.run_id): it.reason for it in batch.named[:left]}
        self.after = asdict(batch.place) if batch.place else None
        self.is_scanned = batch.place is None

    def found(self, offer: Offer) -> None:
        """Take in what one pattern came to."""
        self.compiled += 1
        self.changes = dict(Counter(self.changes) + Counter({offer.change.value: 1}))
        if offer.change is Change.NEW:
            self.new.append(str(offer.routine_id))

    def told(self) -> dict[str, Any]:
        """What came of it so far. `skipped_runs`: those whose record nobody may rely on, by id, at most fifty."""
        return {
            "runs_looked_at": self.looked_at,
            "runs_counted": self.counted,
            "patterns": self.patterns,
            "routines": self.changes,
            "skipped": self.skipped,
            "skipped_runs": self.named,
        }


class Mining:
    """One take of a mining."""

    def __init__(self, job: Job) -> None:
        """`job.cursor` is where it goes on."""
        self.job = job
        self.agent = job.subject
        self.at = At(**job.cursor)

    def steps(self) -> Iterator[Step]:
        """Yield what is left. Raises `AgentUnknown`."""
        at = self.at
        if at.is_over:
            return
        find_agent(self.agent)
        if at.total < 0:
            at.total = count_recent(self.agent)
        if not at.is_scanned:
            yield from self._scan()
        yield from self._compile()
        if settings.LIYAGENT.routine_suggest == QUEUE:
            yield from self._file()
        at.is_over = True
        yield self._step("all was looked at", keep=partial(forget_sightings, self.job.id))

    def _scan(self) -> Iterator[Step]:
        at = self.at
        after = Place(**at.after) if at.after else None
        for batch in scan(self.agent, after=after, looked_at=at.looked_at):
            at.saw(batch)
            keep = partial(add_sightings, self.job.id, batch)
            yield self._step(f"{at.looked_at} runs were read", keep=keep)

    def _compile(self) -> Iterator[Step]:
        """The most frequent first, so that those that were looked at stay before the others whatever the support is set to."""
        at = self.at
        patterns = groups_of(self.job.id, at_least=settings.LIYAGENT.routine_min_support)
        at.patterns = len(patterns)
        for pattern in patterns[at.compiled :]:
            offer = offer_of(self.agent, group_of(self.job.id, pattern))
            at.found(offer)
            keep = partial(keep_offer, offer, actor=self.job.asked_by)
            yield self._step(f"{at.compiled} of {at.patterns} patterns were compiled", keep=keep)

    def _file(self) -> Iterator[Step]:
        """Ask for the adoption of each new one; one that cannot be adopted, or was asked for already, stays as it is (RT-07)."""
        at = self.at
        for routine_id in at.new[at.filed :]:
            try:
                adopt_routine(routine_id=UUID(routine_id), actor=ACTOR)
            except LiyagentError as refused:
                words = f"{routine_id} was not asked for: {refused}"
            else:
                words = f"{routine_id} waits for a person"
            at.filed += 1
            yield self._step(words)

    def _step(self, words: str, *, keep: Callable[[], object] = lambda: None) -> Step:
        at = self.at
        return Step(
            cursor=asdict(at),
            done=at.looked_at + at.compiled,
            total=max(at.total, at.looked_at) + at.patterns,
            words=words,
            keep=lambda: _done(keep),
            result=at.told(),
        )


def mine(job: Job) -> Iterator[Step]:
    """Yield what is left of a mining. Raises `AgentUnknown`."""
    yield from Mining(job).steps()


def after_end(job: Job) -> float:
    """Forget what a mining saw that was cancelled, or failed."""
    forget_sightings(job.id)
    return 0.0


def _done(keep: Callable[[], object]) -> None:
    keep()


HANDLERS[KIND] = Handler(steps=mine, after_end=after_end)
