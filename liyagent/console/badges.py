"""How many of what wants a look, beside the sidebar's items: bounded, and counted once in some seconds a process; at once where it is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from django.core.cache import cache
from django.db import connection
from django.db.models import F, QuerySet, Value

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.entry.cron.models import CronTrigger
from liyagent.entry.listing import OF_GIVEN_UP
from liyagent.entry.models import Delivery
from liyagent.gateway.models import Tool, ToolServer
from liyagent.jobs.sources.models import Source
from liyagent.tickets.models import Ticket, TicketState
from runs.unknown import unknown_calls
from sagas.needing import needing_a_person

KEPT_SECONDS = 5
MOST_COUNTED = 999
KEY = "liyagent.console.badges"


def open_requests() -> QuerySet[Approval]:
    """Return the requests that wait for a person."""
    return Approval.objects.filter(status=ApprovalStatus.PENDING)


def unapproved_tools() -> QuerySet[Tool]:
    """Return the offered tools that changed since they were approved, or never were."""
    return Tool.objects.filter(is_offered=True).exclude(fingerprint=F("approved_fingerprint"))


COUNTED: Mapping[str, Callable[[], QuerySet[Any]]] = {
    "unknown": unknown_calls,
    "pending": open_requests,
    "open_tickets": lambda: Ticket.objects.filter(state=TicketState.OPEN),
    "sagas": needing_a_person,
    "contained": lambda: Agent.objects.filter(is_contained=True),
    "unreadable": lambda: ToolServer.objects.filter(is_enabled=True).exclude(catalogue_error=""),
    "to_approve": unapproved_tools,
    "stopped_cron": lambda: CronTrigger.objects.exclude(problem=""),
    "stopped_sources": lambda: Source.objects.exclude(problem=""),
    "given_up": lambda: Delivery.objects.filter(state__in=OF_GIVEN_UP),
}


def badges(*, afresh: bool = False) -> Mapping[str, int]:
    """Return how many of each there are, at most 1000, as of the last five seconds, or now: one statement."""
    key = f"{KEY}.{connection.settings_dict['NAME']}"
    found: Mapping[str, int] | None = None if afresh else cache.get(key)
    if found is None:
        first, *others = (
            rows().order_by().values_list(Value(name))[: MOST_COUNTED + 1]
            for name, rows in COUNTED.items()
        )
        found = Counter(name for (name,) in first.union(*others, all=True))
        cache.set(key, found, KEPT_SECONDS)
    return found


def shown(number: int) -> str:
    """Return a bounded number as a page shows it."""
    return str(number) if number <= MOST_COUNTED else f"more than {MOST_COUNTED}"


def badge(number: int) -> str:
    """Return a bounded number as the sidebar shows it: `999+` where there are more, nothing for none."""
    return "" if not number else str(number) if number <= MOST_COUNTED else f"{MOST_COUNTED}+"
