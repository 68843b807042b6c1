"""Writes of unknown outcome: sent or not, nobody knows, and not found at the vendor since. A person has to look."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db.models import Count, Exists, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from liyagent.gateway.outcome import Fate
from runs.late_look import FOUND
from runs.models import Call

T = TypeVar("T", bound=QuerySet[Any])
UNKNOWN = Q(fate=Fate.UNKNOWN.value) & ~Q(late_finding=FOUND)


def unknown_calls() -> QuerySet[Call]:
    """Return the calls of unknown outcome."""
    return Call.objects.filter(UNKNOWN)


def with_unknown_writes(rows: T) -> T:
    """Bring `unknown_writes` along, their number: one look into the index of unknown calls for each row of a page."""
    counted = _of_the_run().order_by().values("run_id").annotate(number=Count("pk"))
    number = Coalesce(Subquery(counted.values("number")), 0, output_field=IntegerField())
    annotated: T = rows.annotate(unknown_writes=number)
    return annotated


def having_unknown_writes(rows: T) -> T:
    """Return the runs with at least one."""
    return rows.filter(Exists(_of_the_run()))


def _of_the_run() -> QuerySet[Call]:
    # The correlation id is what the partial index of unknown calls begins with.
    return unknown_calls().filter(correlation_id=OuterRef("correlation_id"), run_id=OuterRef("pk"))
