"""What the console's first page says wants a look."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django import template
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from runs.models import Run, RunStatus
from runs.unknown import unknown_calls

register = template.Library()
MOST_COUNTED = 1000
RECENT = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """`number` of `what`, and the list that shows them."""

    number: str
    what: str
    url: str


@register.simple_tag(takes_context=True)
def attention(context: dict[str, Any]) -> list[Line]:
    """Return calls of unknown outcome, running runs and the last day's failed runs: those that the user may see."""
    user = context["request"].user
    lines = []
    if user.has_perm("runs.view_call"):
        lines.append(
            _line("call", unknown_calls(), what="calls of unknown outcome", fate="not-found")
        )
    if user.has_perm("runs.view_run"):
        running = Run.objects.filter(status=RunStatus.RUNNING)
        lines.append(_line("run", running, what="running runs", status__exact="running"))
        since = timezone.now().replace(microsecond=0) - RECENT
        # Without a bound in time every run there ever was would be looked through.
        failed = Run.objects.filter(status=RunStatus.FAILED, created_at__gte=since)
        lines.append(
            _line(
                "run",
                failed,
                what="failed runs of the last 24 hours",
                status__exact="failed",
                created_at__gte=since.isoformat(),
            )
        )
    return lines


def _line(model: str, rows: QuerySet[Any], *, what: str, **chosen: str) -> Line:
    found = rows.order_by().values("pk")[: MOST_COUNTED + 1].count()
    return Line(
        number=str(found) if found <= MOST_COUNTED else f"more than {MOST_COUNTED}",
        what=what,
        url=f"{reverse(f'admin:runs_{model}_changelist')}?{urlencode(chosen)}",
    )
