"""Look what a mining of an agent's runs would offer, in memory: nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from django.conf import settings

from routines.ask import find_agent
from routines.offer import Offer, offer_of
from routines.scan import MOST_NAMED, Batch, Named, scan
from routines.sightings import Seen


@dataclass(slots=True, kw_only=True)
class Mined:
    """What a mining has come to so far: `named`: skipped runs, at most fifty."""

    looked_at: int = 0
    counted: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    named: list[Named] = field(default_factory=list)

    def add(self, batch: Batch) -> None:
        """Take in what a batch came to."""
        self.looked_at += batch.looked_at
        self.counted += batch.counted
        self.skipped += batch.skipped
        self.named += batch.named[: MOST_NAMED - len(self.named)]


def would_offer(
    agent_key: str, mined: Mined, *, tell: Callable[[Mined], None] = lambda _it: None
) -> Iterator[Offer]:
    """Yield what a mining would find of each pattern; `mined` is brought up to date. Writes nothing. Raises `AgentUnknown`."""
    agent = find_agent(agent_key)
    seen = Seen()
    for batch in scan(agent.key):
        seen.add(batch)
        mined.add(batch)
        tell(mined)
    for group in seen.groups(at_least=settings.LIYAGENT.routine_min_support):
        yield offer_of(agent.key, group)
