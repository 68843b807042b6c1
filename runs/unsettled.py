"""Marked writes that nobody has settled yet: under way, held for a person, or left until their run is resumed."""

from __future__ import annotations

from django.db.models import Q

from liyagent.gateway.outcome import Fate
from runs.late_look import FOUND
from runs.models import Call

# What the index of calls in doubt holds: each half of the condition stands in it.
IN_DOUBT = Q(fate__in=["", Fate.UNKNOWN.value]) & ~Q(late_finding=FOUND)
UNSETTLED = Q(fate="") & ~Q(late_finding=FOUND)
MOST_CALLS = 1000


def unsettled_ids() -> list[int]:
    """Return the ids of unsettled calls, the oldest mark first, at most 1000."""
    found = Call.objects.filter(UNSETTLED).order_by("marked_at", "id")
    return list(found.values_list("id", flat=True)[:MOST_CALLS])


def in_doubt() -> Q:
    """Match every call in doubt: of unknown outcome and not found since, or not settled yet."""
    return IN_DOUBT
