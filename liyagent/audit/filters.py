"""How the audit log is narrowed in the console, and how far that may look."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from liyagent.audit.listing import COLUMNS, INDEXED, find_rows, selection_of, values_of
from liyagent.core.errors import BadInput
from liyagent.core.moments import shown_now

# Of those that fit among the rows looked through, as many are listed.
MOST_LISTED = 1_000
MOST_CHOICES = 200
SPANS = {"1h": timedelta(hours=1), "24h": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)}  # fmt: skip
WORDS = {"1h": "in the last hour", "24h": "in the last 24 hours", "7d": "in the last 7 days", "30d": "in the last 30 days"}  # fmt: skip
WHEN = "when"


class Chosen(admin.SimpleListFilter):
    """A filter of one stamp; the list is narrowed by all of them at once, by `narrowed`."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the values that the log has, from the index of that stamp alone."""
        there = values_of(str(self.parameter_name), most=MOST_CHOICES)
        return [(it, it) for it in there if it]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Leave it to `narrowed`."""
        return queryset


class ByAction(Chosen):
    """Chooses an action, or what lies below it."""

    title = "what"
    parameter_name = "action"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the actions that there are, and above them what they lie below."""
        there = values_of("action", most=MOST_CHOICES)
        above = {".".join(it.split(".")[:length]) for it in there for length in (1, 2)}
        return [(it, it) for it in sorted({*there, *above})]


class ByActor(Chosen):
    """Chooses who did it."""

    title = "by"
    parameter_name = "actor"


class ByAgent(Chosen):
    """Chooses the agent that did it, or in whose run it was done."""

    title = parameter_name = "agent"


class Given(Chosen):
    """A filter that links set: there are too many values to choose among, so that the one that is set is shown alone."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return what is set."""
        given = request.GET.get(str(self.parameter_name), "")
        return [(given, given)] if given else []


class ByMission(Given):
    """The mission that it was done for."""

    title = parameter_name = "mission"


class ByRun(Given):
    """The run that it was done to."""

    title = parameter_name = "run"


class ByTime(Chosen):
    """Chooses when it was done."""

    title = parameter_name = WHEN

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the spans."""
        return list(WORDS.items())


FILTERS = (ByTime, ByAction, ByActor, ByAgent, ByMission, ByRun)


def narrowed(queryset: QuerySet[Any], request: HttpRequest, looked_for: dict[str, str]) -> QuerySet[Any]:  # fmt: skip
    """Return the rows that fit all filters, and what is `looked_for`; what is none of the choices finds nothing."""
    asked = {name: request.GET[name] for name in INDEXED if request.GET.get(name)}
    span = SPANS.get(request.GET.get(WHEN, ""))
    if span:
        asked["since"] = (shown_now() - span).isoformat()
    for name, value in looked_for.items():
        if asked.setdefault(name, value) != value:
            return queryset.none()
    if not asked:
        return queryset
    try:
        wanted = selection_of(asked)
    except BadInput:
        return queryset.none()
    if wanted.is_by_one_index:
        return queryset.filter(**{COLUMNS[it]: value for it, value in wanted.chosen.items()})
    return queryset.filter(pk__in=find_rows(wanted, limit=MOST_LISTED).ids)
