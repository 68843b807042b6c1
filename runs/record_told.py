"""What a run's page says of the record itself: intact and complete or not, the first break, whether it agrees, what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

from django.db import connection

from events.completeness import Completeness, Lack
from events.fold import Budget, State
from events.keys import checking_keys
from events.reading import HeadRow, one_moment, purged_among, read_facts, read_head, stream_events
from events.sealing import SEAL_CHECK
from events.verdict import Found, Judge, Verdict
from runs import evidence
from runs.evidence import MOST_ITEMS, MOST_JUDGED, live_of
from runs.evidence_compare import Difference, differences
from runs.head import BODIES
from runs.models import Run

# A longer chain is looked at when somebody asks for it; one longer still at the shell.
MOST_AT_ONCE = 5_000
MOST_ASKED_FOR = MOST_JUDGED
MOST_DIFFERENCES = 20
COUNT = (
    "SELECT count(*) FROM (SELECT 1 FROM events_runevent WHERE correlation_id = %s LIMIT %s) AS few"
)
# What was written anew up to there, or has no head: nothing of it can be relied on.
OF_ALL = frozenset({"sealed_otherwise", "no_head", "gone"})
BEFORE_IT = "Rely on nothing from there on; what stands before it is as it was written."
NOTHING = "Rely on nothing of this record, what stands before that event among it."
# Of other breaks: somebody with access to the database changed what was written.
CHANGED = (
    "Change nothing and purge nothing. Keep a dump of the database as it stands (pg_dump): no pack is made of what is not intact.",
    "See how far it goes: manage.py events verify --run {run}, then --all; compare with a pack or an exported root of before.",
    "Find out who could write to the database. docs/run-events.md tells what each break means.",
)
TO_DO: Mapping[str, Sequence[str]] = {
    "unknown_key": (
        "This is no sign of a change: the key that tagged the event is not known to this process.",
        "Put the key back into LIYAGENT_SEAL_KEYS, behind the newest, and look again.",
    ),
}
# By what is missing; of anything else, what is said of gaps.
LACKS_TO_DO: Mapping[str, Sequence[str]] = {
    "before_tags": (
        "Believe this of runs from before the release that made tags, and of no other: a newer run was written by somebody else.",
    ),
    "decision": (
        "Look at the request and at its audit rows: a call was made as approved, and nothing recorded says that somebody approved it.",
    ),
}
LACKING = (
    "What is missing was never written, or was taken away: the vendor's own log and the audit log tell what happened meanwhile.",
    "A run with a gap is neither replayed nor learnt from.",
)
DIFFERING = (
    "The row of the run, or of a mark, was changed beside the record, or events of it are missing: believe the events where they are intact.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTold:
    """The record of a run's whole chain. `verdict` is None where it was not looked at, for its length, or where nothing is kept."""

    correlation_id: UUID
    run_id: UUID
    count: int
    is_longer: bool
    is_larger: bool
    purged_at: datetime | None
    verdict: Verdict | None
    differs: Sequence[Difference]

    @property
    def broken(self) -> Found | None:
        """The first break."""
        return self.verdict.broken if self.verdict else None

    @property
    def broken_from(self) -> int | None:
        """The event from which on nothing can be relied on, None where it is intact."""
        if self.broken is None:
            return None
        return 1 if self.broken.reason in OF_ALL else self.broken.number

    @property
    def lacks(self) -> Sequence[Lack]:
        """What is known to be missing."""
        return self.verdict.lacks if self.verdict else ()

    @property
    def may_be_asked_for(self) -> bool:
        """Whether the page may look at it after all."""
        is_too_much = self.is_longer or self.is_larger
        return self.verdict is None and self.purged_at is None and not is_too_much

    @property
    def is_open(self) -> bool:
        """Whether a run of the chain goes on, so that more will come."""
        return self.verdict is not None and self.verdict.is_open

    @property
    def to_do(self) -> list[str]:
        """What a person does about it, step by step; nothing where all is well."""
        told: list[str] = []
        if self.broken is not None:
            whole = NOTHING if self.broken.reason in OF_ALL else BEFORE_IT
            told += TO_DO.get(self.broken.reason, (whole, *CHANGED))
        for lack in self.lacks:
            told += LACKS_TO_DO.get(lack.reason, LACKING)
        if self.differs:
            told += DIFFERING
        return [it.format(run=self.run_id) for it in dict.fromkeys(told)]


def record_of(run: Run, *, is_asked_for: bool = False) -> RecordTold:
    """Judge the chain of a run, of one moment, and compare what its events come to with its row.

    Not a chain of more than 5,000 events, or 20,000 where it is asked for, nor one of more than 200 million characters of
    content; the number of statements is the same for any.
    """
    chain, most = run.correlation_id, MOST_ASKED_FOR if is_asked_for else MOST_AT_ONCE
    with one_moment():
        with connection.cursor() as cursor:
            cursor.execute(COUNT, [chain, MOST_ASKED_FOR + 1])
            ((count,),) = cursor.fetchall()
        head = read_head(chain)
        purged_at = purged_among([chain]).get(chain) if not count else None
        is_looked_at = count <= most and purged_at is None
        looked = _look(run, head) if is_looked_at else None
    return RecordTold(
        correlation_id=chain,
        run_id=run.id,
        count=min(count, MOST_ASKED_FOR),
        is_longer=count > MOST_ASKED_FOR,
        is_larger=is_looked_at and looked is None,
        purged_at=purged_at,
        verdict=looked[0] if looked else None,
        differs=looked[1] if looked else (),
    )


def _look(run: Run, head: HeadRow | None) -> tuple[Verdict, Sequence[Difference]] | None:
    """Read the chain once, in a stream; None where it holds too much."""
    chain = run.correlation_id
    judge = Judge(
        correlation_id=chain,
        head=head,
        keys=checking_keys(),
        completeness=Completeness.of(read_facts(chain, chain).get(chain, ())),
        seal=SEAL_CHECK.check,
    )
    state = State(Budget(MOST_ITEMS))
    size = 0
    for row in islice(stream_events(chain, chain), MOST_ASKED_FOR + 1):
        size += len(row.content)
        if size > evidence.MOST_JUDGED_SIZE:
            return None
        judge.see(row)
        if row.run_id == run.id:
            state.see(row)
    # Its row as it stood at the same moment.
    now = Run.objects.filter(id=run.id).defer(*BODIES).first() or run
    differs = differences(state.runs.get(run.id), live_of(now))
    return judge.verdict(), list(islice(differs, MOST_DIFFERENCES))
