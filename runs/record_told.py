"""What a run's page says of the record itself: whether it is intact and complete, the first break, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from events.checking import Asked
from events.completeness import Lack
from events.verdict import Found, Verdict
from events.verify_chains import verdicts
from runs.models import Run

# A longer chain is looked at when somebody asks for it; one longer still at the shell.
MOST_AT_ONCE = 5_000
MOST_ASKED_FOR = 50_000
COUNT = (
    "SELECT count(*) FROM (SELECT 1 FROM events_runevent WHERE correlation_id = %s LIMIT %s) AS few"
)
# Of other breaks: somebody with access to the database changed what was written.
CHANGED = (
    "Rely on nothing from there on; what stands before it is as it was written.",
    "Change nothing and purge nothing. Keep what there is: manage.py events export --run {run}",
    "See how far it goes: manage.py events verify --all, and compare with the newest exported root.",
    "Find out who could write to the database. docs/evidence.md tells what each break means.",
)
TO_DO: Mapping[str, Sequence[str]] = {
    "unknown_key": (
        "This is no sign of a change: the key that tagged the event is not known to this process.",
        "Put the key back into LIYAGENT_SEAL_KEYS, behind the newest, and look again.",
    ),
}
LACKING = (
    "What is missing was never written, or was taken away: the vendor's own log and the audit log tell what happened meanwhile.",
    "A run with a gap is neither replayed nor learnt from.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTold:
    """The record of a run's whole chain. `verdict` is None where it was not looked at, for its length, or where nothing is kept."""

    correlation_id: UUID
    run_id: UUID
    count: int
    is_longer: bool
    verdict: Verdict | None

    @property
    def broken(self) -> Found | None:
        """The first break."""
        return self.verdict.broken if self.verdict else None

    @property
    def lacks(self) -> Sequence[Lack]:
        """What is known to be missing."""
        return self.verdict.lacks if self.verdict else ()

    @property
    def may_be_asked_for(self) -> bool:
        """Whether the page may look at it after all."""
        return self.verdict is None and 0 < self.count <= MOST_ASKED_FOR

    @property
    def is_open(self) -> bool:
        """Whether a run of the chain goes on, so that more will come."""
        return self.verdict is not None and self.verdict.is_open

    @property
    def is_well(self) -> bool:
        """Whether it was looked at, is intact, and lacks nothing."""
        return self.verdict is not None and self.verdict.is_intact and self.verdict.is_complete

    @property
    def to_do(self) -> list[str]:
        """What a person does about it, step by step; nothing where all is well."""
        told: list[str] = []
        if self.broken is not None:
            told += TO_DO.get(self.broken.reason, CHANGED)
        if self.lacks:
            told += LACKING
        return [it.format(run=self.run_id) for it in told]


def record_of(run: Run, *, is_asked_for: bool = False) -> RecordTold:
    """Judge the chain of a run, of one moment; not one of more than 5,000 events, or 50,000 where it is asked for."""
    most = MOST_ASKED_FOR if is_asked_for else MOST_AT_ONCE
    with connection.cursor() as cursor:
        cursor.execute(COUNT, [run.correlation_id, MOST_ASKED_FOR + 1])
        ((count,),) = cursor.fetchall()
    chain = Asked(first=run.correlation_id, last=run.correlation_id)
    found = next(iter(verdicts(chain)), None) if count <= most else None
    return RecordTold(
        correlation_id=run.correlation_id,
        run_id=run.id,
        count=min(count, MOST_ASKED_FOR),
        is_longer=count > MOST_ASKED_FOR,
        verdict=found,
    )
