"""The inbox in the console: what came in, which run it is, and what is owed for it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.core.moments import when
from liyagent.core.tables import cell
from liyagent.entry import pages
from liyagent.entry.deliveries_admin import ListedAdmin, links_of, narrowed_by, owed_row, short
from liyagent.entry.filters import ByAgent, ByArrivalState, ByWay, asked_of
from liyagent.entry.listing import ARRIVAL_ORDER, arrivals_led
from liyagent.entry.models import Arrival, ArrivalState, Delivery
from runs.doubts_admin import as_uuid

MOST_DELIVERIES = 100


@admin.register(Arrival)
class ArrivalAdmin(ListedAdmin):
    """The inbox, newest first."""

    list_display = ("received", "state_told", "came_by", "who", "agent", "why", "run")
    list_filter = (ByWay, ByArrivalState, ByAgent)
    search_fields = ("source",)
    search_help_text = "A run's id, or a source in full"
    ordering = ARRIVAL_ORDER
    words_if_empty = "Nothing came in yet."
    words_if_not_found = "An arrival is forgotten 30 days after its end."
    list_before_template = "admin/entry/arrival/about.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Arrival]:
        """Leave the words in the database."""
        rows: QuerySet[Arrival] = super().get_queryset(request)
        return rows.defer("sealed")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Look by what an index leads to alone; the rest is compared among the newest of it."""
        term = search_term.strip()
        run_id = as_uuid(term)
        if run_id:
            return queryset.filter(run_id=run_id), False
        asked = dict(asked_of(request, ("way", "state", "agent")))
        if term:
            asked["source"] = term
        found = narrowed_by(queryset, lambda: arrivals_led(asked), ARRIVAL_ORDER)
        return found.defer("sealed"), False

    @admin.display(description="received")
    def received(self, arrival: Arrival) -> SafeString:
        """When it came."""
        return when(arrival.received_at)

    @admin.display(description="state")
    def state_told(self, arrival: Arrival) -> SafeString:
        """Where it stands, and how its run ended."""
        return pages.arrival_state(arrival)

    @admin.display(description="came in by")
    def came_by(self, arrival: Arrival) -> SafeString:
        """Its way, and what let it in."""
        return format_html('{} <span class="liy-age">{}</span>', arrival.way, cell(arrival.source))

    @admin.display(description="started by")
    def who(self, arrival: Arrival) -> str:
        """Whose run it is."""
        return cell(arrival.started_by)

    @admin.display(description="agent")
    def agent(self, arrival: Arrival) -> str:
        """Who is asked."""
        return cell(arrival.agent_key)

    @admin.display(description="why not")
    def why(self, arrival: Arrival) -> SafeString:
        """Why nothing was started of it, or not yet."""
        return short(arrival.reason)

    @admin.display(description="run")
    def run(self, arrival: Arrival) -> SafeString:
        """Lead to the run, where there is one."""
        return run_link(arrival)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show what came in, and what is owed for it; nothing is changed by it."""
        arrival: Arrival | None = self.found_row(request, object_id)
        if arrival is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        owed = list(Delivery.objects.filter(run_id=arrival.run_id)[: MOST_DELIVERIES + 1])
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Arrival of run {arrival.run_id}",
            "arrival": arrival,
            "state": pages.arrival_state(arrival),
            "told": pages.ARRIVAL_WORDS[ArrivalState(arrival.state)],
            "run": run_link(arrival),
            "moments": [
                ("Received", when(arrival.received_at)),
                ("Started", when(arrival.started_at)),
                ("Ended", when(arrival.ended_at)),
            ],
            "owed": [owed_row(it) for it in owed[:MOST_DELIVERIES]],
            "has_more": len(owed) > MOST_DELIVERIES,
            "links": links_of(request, arrival.run_id),
        }
        return TemplateResponse(request, "admin/entry/arrival/page.html", context)


def run_link(arrival: Arrival) -> SafeString:
    """Lead to the run of what came in, where one was started."""
    if arrival.state not in {ArrivalState.STARTED, ArrivalState.ENDED}:
        return format_html("{}", "-")
    address = reverse("admin:runs_run_change", args=[arrival.run_id])
    return format_html('<a class="liy-link liy-mono" href="{}">{}</a>', address, arrival.run_id)
