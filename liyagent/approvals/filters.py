"""How the list of requests is narrowed in the console, and how far that may look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval, ApprovalStatus

MOST_CHOICES = 200
MOST_LOOKED_THROUGH = 10_000
MOST_OF_MISSION = 1_000
ALL = "all"
PENDING = ApprovalStatus.PENDING.value
OLDEST_FIRST = ("created_at", "id")
NEWEST_FIRST = ("-created_at", "-id")
NEWEST = "The newest first."


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """What the list of a status is called, what it holds, and what it says where it holds nothing."""

    name: str
    told: str
    empty: str


TABS: Mapping[str, Tab] = {
    PENDING: Tab(
        name="waiting",
        told="Calls that a gate held, questions of workflows, failed runs that could begin again, and routines that could be adopted; what waits longest first. Open one to see exactly what it is about, and to decide.",
        empty="Nothing waits for a person.",
    ),
    ApprovalStatus.APPROVED.value: Tab(
        name="approved, not yet made",
        told="Approved, and not sent yet. Processes make such a call within seconds: what stays here waits for a process to run, or for its run to come to it.",
        empty="No approved call waits to be made. What was sent stands under “approved and sent”.",
    ),
    ApprovalStatus.CONSUMED.value: Tab(
        name="approved and sent",
        told=f"Approved, and the call was sent, once; what came of it stands on its page. {NEWEST}",
        empty="No approved call was sent yet.",
    ),
    ApprovalStatus.REJECTED.value: Tab(
        name="rejected",
        told=f"A person said no: the call was not made, and the agent was told why. {NEWEST}",
        empty="Nothing was rejected.",
    ),
    ApprovalStatus.EXPIRED.value: Tab(
        name="expired",
        told=f"Nobody decided in time: the call was not made. {NEWEST}",
        empty="Nothing has expired.",
    ),
    ApprovalStatus.WITHDRAWN.value: Tab(
        name="withdrawn",
        told=f"Taken back by a person, or because the run ended: the call was not made. {NEWEST}",
        empty="Nothing was withdrawn.",
    ),
    ApprovalStatus.STALE.value: Tab(
        name="stale",
        told=f"Approved, but not made: something had changed since it was asked for. Mostly another request was filed in its place. {NEWEST}",
        empty="Nothing went stale.",
    ),
    ALL: Tab(name="every request", told=NEWEST, empty="No call was held yet."),
}  # fmt: skip


class ByStatus(admin.SimpleListFilter):
    """Chooses a status; where nothing is chosen, what waits is shown."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the statuses, and all of them."""
        tabs = tabs_beside(status_asked(request.GET))
        return [(status, tab.name) for status, tab in tabs.items() if status != PENDING]

    def choices(self, changelist: Any) -> Any:
        """Name the default for what it is."""
        for number, choice in enumerate(super().choices(changelist)):
            yield {**choice, "display": TABS[PENDING].name} if number == 0 else choice

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the requests of the choice."""
        status = self.value() or PENDING
        return queryset if status == ALL else queryset.filter(status=status)


class ByAgent(admin.SimpleListFilter):
    """Chooses among the agents there are; nothing is looked for in the requests."""

    title = "agent"
    parameter_name = "agent_key"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the agents' keys."""
        keys = Agent.objects.order_by("key").values_list("key", flat=True)[:MOST_CHOICES]
        return [(key, key) for key in keys]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the chosen agent's requests."""
        return queryset.filter(agent_key=self.value()) if self.value() else queryset


def status_asked(asked: Mapping[str, str]) -> str:
    """Return the status whose requests are listed: those that wait, where none is asked for."""
    return asked.get(ByStatus.parameter_name) or PENDING


def tabs_beside(chosen: str) -> Mapping[str, Tab]:
    """Return the tabs that lead somewhere: what is approved is made at once, so that mostly nothing waits for that."""
    approved = ApprovalStatus.APPROVED.value
    is_shown = chosen == approved or Approval.objects.filter(status=approved).exists()
    return TABS if is_shown else {it: tab for it, tab in TABS.items() if it != approved}


def order_of(asked: Mapping[str, str]) -> tuple[str, ...]:
    """Return in which order they are listed: what waits longest first, of others the newest."""
    return OLDEST_FIRST if status_asked(asked) == PENDING else NEWEST_FIRST


def looked_through(rows: QuerySet[Any], asked: Mapping[str, str]) -> QuerySet[Any]:
    """Bound a list by agent, which stands in no index, to the first 10,000 requests of its status."""
    if not asked.get(ByAgent.parameter_name):
        return rows
    status, order = status_asked(asked), order_of(asked)
    within = Approval.objects.all() if status == ALL else Approval.objects.filter(status=status)
    last = _last(within.order_by(*order))
    if last is None:
        return rows
    is_oldest_first = order == OLDEST_FIRST
    return rows.filter(
        **{"created_at__lte" if is_oldest_first else "created_at__gte": last},
    )


def found(rows: QuerySet[Any], term: str) -> QuerySet[Any]:
    """Return the requests with this id, of the run with this id, or of the mission's newest 1,000."""
    try:
        asked = UUID(term)
    except ValueError:
        of_mission = Approval.objects.filter(mission=term).order_by("-created_at")
        # Their ids, not a condition: no index of the others can then be taken for a shorter way.
        return rows.filter(id__in=list(of_mission.values_list("id", flat=True)[:MOST_OF_MISSION]))
    return rows.filter(Q(id=asked) | Q(run_id=asked))


def _last(rows: QuerySet[Approval]) -> Any:
    """When the last row was filed that is looked through; None where there are fewer."""
    moments = rows.values_list("created_at", flat=True)
    return next(iter(moments[MOST_LOOKED_THROUGH - 1 : MOST_LOOKED_THROUGH]), None)
