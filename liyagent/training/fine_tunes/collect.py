"""Go through the runs of an agent, and make lines of those that fit; the others are counted by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Q, QuerySet

from liyagent.training.fine_tunes.ask import Wanted, find_agent
from liyagent.training.fine_tunes.lines import Lines, Skipped, tokens_of
from runs.models import Run

TOGETHER = 20
MOST_LINES, MOST_BYTES = 20_000, 64 << 20
BODIES = ("seal",)


@dataclass(slots=True, kw_only=True)
class Found:
    """What was found so far, and behind which run it goes on: what the cursor keeps."""

    total: int = 0
    looked_at: int = 0
    after_at: str = ""
    after_id: str = ""
    lines: int = 0
    bytes: int = 0
    tokens: int = 0
    starred: int = 0
    skipped: dict[str, int] = field(default_factory=dict)

    def skip(self, reason: str, count: int = 1) -> None:
        """Count runs that make no line."""
        self.skipped = dict(Counter(self.skipped) + Counter({reason: count}))

    def told(self) -> dict[str, object]:
        """What a person is told."""
        return {
            "transcripts": self.lines,
            "tokens": self.tokens,
            "bytes": self.bytes,
            "secrets_starred": self.starred,
            "skipped": self.skipped,
        }


Line = tuple[UUID, bytes]


def runs_of(wanted: Wanted) -> QuerySet[Run]:
    """Return the runs that are looked at, in order."""
    since, until = wanted.span
    found = Run.objects.filter(agent_key=wanted.agent, created_at__gte=since, created_at__lt=until)
    return found.defer(*BODIES).order_by("created_at", "id")


def collect(wanted: Wanted, found: Found) -> Iterator[list[Line]]:
    """Yield the lines of twenty runs after the other, behind what `found` has; it is brought up to date before each.

    Stops where the file is full: the rest is counted.
    """
    lines = Lines(find_agent(wanted.agent))
    if not found.looked_at:
        found.total = runs_of(wanted).count()
    while True:
        rows = runs_of(wanted)
        if found.after_id:
            rows = rows.filter(Q(created_at=found.after_at, id__gt=found.after_id) | Q(created_at__gt=found.after_at)).filter(created_at__gte=found.after_at)  # fmt: skip
        runs = list(rows[:TOGETHER])
        if not runs:
            return
        made: list[Line] = []
        for run in runs:
            if found.lines >= MOST_LINES or found.bytes >= MOST_BYTES:
                rest = max(found.total - found.looked_at, 0)
                found.skip("beyond the size of one file", rest)
                found.looked_at += rest
                yield made
                return
            _look_at(run, lines, found, made)
        yield made


def _look_at(run: Run, lines: Lines, found: Found, made: list[Line]) -> None:
    found.looked_at += 1
    found.after_at, found.after_id = run.created_at.isoformat(), str(run.id)
    before = lines.starring.count
    try:
        line = lines.line_of(run)
    except Skipped as reason:
        found.skip(str(reason))
        return
    made.append((run.id, line))
    found.lines += 1
    found.bytes += len(line) + 1
    found.tokens += tokens_of(line)
    found.starred += lines.starring.count - before


def look_through(wanted: Wanted) -> Found:
    """Return what a fine-tuning would take, without keeping or sending anything."""
    found = Found()
    for _ in collect(wanted, found):
        pass
    return found
