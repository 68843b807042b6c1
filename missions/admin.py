"""Named missions in the console: to read. A row leads to the mission's own page."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString

from liyagent.core.moments import when
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell
from missions.models import Mission
from missions.names import clean_mission

# Whoever may see runs: a mission is what holds them together.
VIEW_RUN = "runs.view_run"


@admin.register(Mission)
class MissionAdmin(ReadOnlyAdmin):
    """First seen last first."""

    list_display = ("id", "seen_first", "by", "seen_last")
    list_display_links = ("id",)
    search_fields = ("id",)
    search_help_text = "A mission's id, in full"
    sortable_by = ()
    ordering = ("-first_seen", "-id")
    words_if_empty = "Nobody named a mission yet."
    words_above = (
        "A mission is the id that one piece of work carries through runs, approvals, calls and logs, named by whoever asked: "
        "by the header X-Liyagent-Mission, by baggage, or in a message. Choose one to see all of it on one page, the newest first. "
        "Work that nobody named is found by its run's id."
    )

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As to see."""
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may see runs."""
        return request.user.has_perm(VIEW_RUN)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Look by the whole id alone."""
        term = search_term.strip()
        return (queryset.filter(id=term) if term else queryset), False

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Lead to the mission's page. The site quotes what stands in its links."""
        mission = clean_mission(unquote(object_id))
        if mission is None:
            raise Http404
        return HttpResponseRedirect(reverse("console-mission", args=[mission]))

    @admin.display(description="first seen")
    def seen_first(self, mission: Mission) -> SafeString:
        """When a row of ours bore it first."""
        return when(mission.first_seen)

    @admin.display(description="by")
    def by(self, mission: Mission) -> str:
        """Who did what that row tells."""
        return cell(mission.first_by)

    @admin.display(description="last seen")
    def seen_last(self, mission: Mission) -> SafeString:
        """When a row bore it last, to the minute."""
        return when(mission.last_seen)
