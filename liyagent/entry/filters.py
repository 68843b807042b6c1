"""How the lists of arrivals and deliveries are narrowed in the console, and how far that may look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from liyagent.agents.channels import WITH_ARRIVALS
from liyagent.agents.models import Agent
from liyagent.entry.listing import GIVEN_UP, Led, fitting_ids
from liyagent.entry.models import ArrivalState, DeliveryState

MOST_CHOICES = 200
# Of those that fit among the rows looked through, as many are listed.
MOST_LISTED = 1_000


class Chosen(admin.SimpleListFilter):
    """A filter by choices known beforehand; the list is narrowed by all of them at once, by `narrowed`."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Leave it to `narrowed`."""
        return queryset


class ByWay(Chosen):
    """Chooses a way in."""

    title = parameter_name = "way"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the ways in."""
        return [(it, it) for it in WITH_ARRIVALS]


class ByAgent(Chosen):
    """Chooses among the agents there are."""

    title = parameter_name = "agent"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the agents' keys."""
        keys = Agent.objects.order_by("key").values_list("key", flat=True)[:MOST_CHOICES]
        return [(key, key) for key in keys]


class ByArrivalState(Chosen):
    """Chooses where arrivals stand."""

    title = parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the states."""
        return [(it.value, it.value) for it in ArrivalState]


class ByDeliveryState(Chosen):
    """Chooses how deliveries stand."""

    title = parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the states."""
        others = [(it.value, it.value) for it in DeliveryState]
        return [(GIVEN_UP, "given up: dead or unconfirmed"), *others]


def asked_of(request: HttpRequest, names: Iterable[str]) -> Mapping[str, str]:
    """Return the filters that are chosen on a page."""
    return {it: request.GET[it] for it in names if request.GET.get(it)}


def narrowed(rows: QuerySet[Any], led: Led, order: tuple[str, ...]) -> QuerySet[Any]:
    """Return the rows that an index leads to; with more than that asked, those that fit of the newest it leads to."""
    if not led.others:
        return led.rows.order_by(*order)
    return rows.filter(pk__in=fitting_ids(led, order, most=MOST_LISTED))
