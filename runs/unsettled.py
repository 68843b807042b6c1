"""Marked writes that nobody has settled yet: under way, or left by a lost process until its run is resumed."""

from __future__ import annotations

from django.db.models import Q

from runs.models import Call, Run, RunStatus
from runs.unknown import UNKNOWN

# Where the marks of living runs are looked for; what has ended leaves none unsettled.
MOST_RUNS = 1000
MOST_CALLS = 1000
LIVING = (RunStatus.RUNNING, RunStatus.QUEUED, RunStatus.WAITING, RunStatus.PAUSED)


def unsettled_ids() -> list[int]:
    """Return the ids of unsettled calls, at most 1000, of the 1000 newest runs that were begun and have not ended."""
    living = (
        Run.objects.filter(status__in=LIVING, attempt__gt=0)
        .order_by("-created_at", "-id")
        .values("id")[:MOST_RUNS]
    )
    found = Call.objects.filter(fate="", run_id__in=living).order_by("-id")
    return list(found.values_list("id", flat=True)[:MOST_CALLS])


def in_doubt() -> Q:
    """Match every call in doubt: of unknown outcome and not found since, or not settled yet."""
    return UNKNOWN | Q(id__in=unsettled_ids())
