"""What the rows of runs say, for whoever judges their events: whether they have ended, and what is still owed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db.models import QuerySet

from events.completeness import RunFacts
from runs.approved_run import LOOP
from runs.models import ENDED, Run

# Of a run made for one approved call: its step was asked for, and told of, by another.
OF_APPROVED = {"steps": 1, "calls": 1}


def facts_between(first: UUID, last: UUID) -> Mapping[UUID, Sequence[RunFacts]]:
    """Return what is said of the runs of these chains, from the first to the last, by chain."""
    return _facts(Run.objects.filter(correlation_id__gte=first, correlation_id__lte=last))


def facts_of(chains: Sequence[UUID]) -> Mapping[UUID, Sequence[RunFacts]]:
    """Return what is said of the runs of these chains, by chain."""
    return _facts(Run.objects.filter(correlation_id__in=list(chains)))


def _facts(rows: QuerySet[Run]) -> Mapping[UUID, Sequence[RunFacts]]:
    found: dict[UUID, list[RunFacts]] = {}
    for run_id, chain, loop, status, owed in rows.values_list(
        "id", "correlation_id", "loop", "status", "events_missing"
    ).iterator():
        facts = RunFacts(
            run_id=run_id,
            is_ended=status in ENDED,
            owed=owed,
            counts_from=OF_APPROVED if loop.startswith(LOOP) else {},
        )
        found.setdefault(chain, []).append(facts)
    return found


def chain_of_run(run_id: UUID) -> UUID | None:
    """Return the correlation id of a run, None where there is no such run."""
    return Run.objects.filter(id=run_id).values_list("correlation_id", flat=True).first()
