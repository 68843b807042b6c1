"""How lists of runs and of their marked calls are narrowed in the console, and how far that may look."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from liyagent.agents.channels import CHANNELS
from liyagent.agents.models import Agent
from liyagent.core.moments import shown_now
from liyagent.gateway.outcome import Fate
from runs.endings import EndError
from runs.late_look import FOUND
from runs.listing import MOST_LOOKED_THROUGH
from runs.models import Call, Intent, Run, RunStatus
from runs.unknown import UNKNOWN, having_unknown_writes
from runs.unsettled import UNSETTLED, in_doubt

MOST_CHOICES = 200
MOST_CALLS_LOOKED_THROUGH = 20_000
FATE_WORDS = {Fate.HELD: "held, and its run went on"}
SPANS = {"1h": timedelta(hours=1), "24h": timedelta(days=1), "7d": timedelta(days=7)}


class OneOf(admin.SimpleListFilter):
    """A filter of one column by choices known beforehand: none is looked for in the table."""

    column = ""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the chosen rows."""
        return queryset.filter(**{self.column: self.value()}) if self.value() else queryset


class ByStatus(OneOf):
    """Chooses a status."""

    title = "status"
    parameter_name = column = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the statuses."""
        return [(it.value, it.value) for it in RunStatus]


class ByAgent(OneOf):
    """Chooses among the agents there are; Django's own filter would look through every run for them."""

    title = "agent"
    parameter_name = column = "agent_key"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the agents' keys."""
        keys = Agent.objects.order_by("key").values_list("key", flat=True)[:MOST_CHOICES]
        return [(key, key) for key in keys]


class ByError(OneOf):
    """Chooses why runs ended otherwise than answered."""

    title = "why it ended (code)"
    parameter_name = column = "error"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the codes there are."""
        return [(it.value, it.value) for it in EndError if it.value]


class ByEntry(OneOf):
    """Chooses the way in."""

    title = "entry"
    parameter_name = column = "entry"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the ways in."""
        return [(it, it) for it in (*CHANNELS, "seed")]


class ByWorkflow(admin.SimpleListFilter):
    """Keeps to the workflow that an address names: there is no list of them down here."""

    title = "workflow"
    parameter_name = "workflow"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the one that was named."""
        chosen = request.GET.get(self.parameter_name, "")[:80]
        return [(chosen, chosen)] if chosen else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return what is of it."""
        return queryset.filter(workflow=self.value()) if self.value() else queryset


class ByStart(admin.SimpleListFilter):
    """Chooses when runs were started."""

    title = "started"
    parameter_name = "started"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the spans."""
        return [
            ("1h", "in the last hour"),
            ("24h", "in the last 24 hours"),
            ("7d", "in the last 7 days"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the runs of the chosen span."""
        span = SPANS.get(self.value() or "")
        return queryset.filter(created_at__gte=shown_now() - span) if span else queryset


class ByUnknown(admin.SimpleListFilter):
    """Chooses the runs a person has to look after."""

    title = "writes"
    parameter_name = "writes"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the one choice."""
        return [("unknown", "has writes of unknown outcome")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the chosen runs."""
        return having_unknown_writes(queryset) if self.value() == "unknown" else queryset


# What an index leads to, in this order of preference, as in the API's list.
LEADING = ("error", "workflow", "agent_key", "status")
FILTERS = (*LEADING, "entry")


def looked_through(rows: QuerySet[Any], asked: Any) -> QuerySet[Any]:
    """Bound a list by two filters, or by one without an index, to the newest 10,000 runs that an index leads to."""
    chosen = {name: asked[name] for name in FILTERS if asked.get(name)}
    leads = [it for it in LEADING if it in chosen and chosen[it] != RunStatus.ANSWERED.value]
    leading = leads[0] if leads else ""
    if not set(chosen) - {leading}:
        return rows
    within = Run.objects.filter(**{leading: chosen[leading]} if leading else {})
    last = (
        within.order_by("-created_at", "-id")
        .values_list("created_at", flat=True)[MOST_LOOKED_THROUGH - 1 : MOST_LOOKED_THROUGH]
    )  # fmt: skip
    bottom = next(iter(last), None)
    return rows if bottom is None else rows.filter(created_at__gte=bottom)


class ByDoubt(admin.SimpleListFilter):
    """Chooses what became of a marked call; where nothing is chosen, those in doubt are shown."""

    title = "what became of it"
    parameter_name = "doubt"
    UNKNOWN, UNSETTLED, FOUND, ALL = "unknown", "unsettled", "found", "all"
    WAITS = "waits"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return what can be chosen."""
        return [
            (self.UNKNOWN, "unknown, and not found since"),
            (self.UNSETTLED, "sent, and not settled yet"),
            (self.FOUND, "was unknown, and found later"),
            (self.WAITS, "not sent: waits for a person"),
            (self.ALL, "every marked write"),
            *((it.value, FATE_WORDS.get(it, it.value)) for it in Fate if it is not Fate.UNKNOWN),
        ]

    def choices(self, changelist: Any) -> Any:
        """Name the default for what it is."""
        for choice in super().choices(changelist):
            is_default = choice["query_string"] == changelist.get_query_string(
                remove=[self.parameter_name]
            )
            yield {**choice, "display": "in doubt"} if is_default else choice

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the calls of the choice."""
        chosen = self.value()
        if chosen is None:
            return queryset.filter(in_doubt())
        if chosen == self.ALL:
            return queryset
        return queryset.filter(matching(chosen))


def matching(chosen: str) -> Q:
    """Return what a choice of `ByDoubt` matches; of fates that stand in no index, the newest calls are looked at."""
    if chosen == ByDoubt.UNKNOWN:
        return UNKNOWN
    if chosen == ByDoubt.UNSETTLED:
        return UNSETTLED
    if chosen == ByDoubt.FOUND:
        return Q(fate=Fate.UNKNOWN.value, late_finding=FOUND)
    if chosen == ByDoubt.WAITS:
        return Q(fate="", intent=Intent.HELD.value) & newest_calls()
    return Q(fate=chosen) & newest_calls()


def newest_calls() -> Q:
    """Match the newest 20,000 marked calls: a fate other than unknown, and a step key, stand in no index."""
    last = Call.objects.order_by("-id").values_list("id", flat=True).first() or 0
    return Q(id__gt=last - MOST_CALLS_LOOKED_THROUGH)
