"""Cohort replays in the console: asked for from an agent, watched while they run, and read run by run."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KT
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.access.permissions import OPERATE, READ_WORDS, VIEW_RUN
from liyagent.core.console import NothingToSay, action
from liyagent.core.moments import when
from liyagent.core.pills import QUIET, pill
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell
from liyagent.jobs.models import Job
from liyagent.providers.prices import active_prices
from liyagent.replays import page
from liyagent.replays.cancel import cancel_replay
from liyagent.replays.models import CohortReplay, Replayed
from liyagent.replays.run_page import run_told
from liyagent.replays.try_page import may_ask, show_try
from liyagent.replays.wording import LIMIT_OF_IT
from missions.links import named_mission_link
from runs.doubts_admin import as_uuid

MOST_FOUND = 1_000


@admin.register(CohortReplay)
class CohortReplayAdmin(ReadOnlyAdmin):
    """The newest first."""

    list_display = ("asked", "state", "came_out", "agent", "tried", "figures", "named_mission")
    list_filter = ("status", "verdict")
    search_fields = ("id",)
    search_help_text = "An id, an agent's key or a mission (their newest 1,000), in full"
    sortable_by = ()
    ordering = ("-created_at", "-id")
    words_if_empty = "No past run was tried under another model yet. The page of an agent that is recorded in full leads there."
    words_above = (
        "Past runs of an agent under another model, provider or instructions: every tool is answered from the record, "
        "and nothing is called for real. Open one to see what came out otherwise."
    )
    actions_list = ("try_another",)
    actions_detail = ("cancel",)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may have runs replayed; words are for who may read them too (RP-06)."""
        return request.user.has_perm(OPERATE)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As above."""
        return request.user.has_perm(OPERATE)

    def has_ask_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """What the API wants for it."""
        return may_ask(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave what may be long in the database where a list is shown."""
        rows: QuerySet[Any] = super().get_queryset(request)
        match = request.resolver_match
        if match is None or not str(match.url_name).endswith("_changelist"):
            return rows
        listed: QuerySet[Any] = rows.defer("override", "skipped", "estimate", "sealed").annotate(
            tried_model=KT("override__model"),
            tried_provider=KT("override__provider"),
            tries_instructions=Q(override__has_key="instructions"),
            request_id=Subquery(Job.objects.filter(id=OuterRef("job_id")).values("request_id")),
        )
        return listed

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Look by what an index leads to alone."""
        term = search_term.strip()
        if not term:
            return queryset, False
        cohort = as_uuid(term)
        if cohort is not None:
            return queryset.filter(Q(id=cohort) | Q(mission=term)), False
        newest = CohortReplay.objects.order_by("-created_at", "-id").values_list("id", flat=True)
        found = list(newest.filter(agent_key=term)[:MOST_FOUND] or newest.filter(mission=term)[:MOST_FOUND])  # fmt: skip
        return queryset.filter(id__in=found), False

    def get_urls(self) -> list[Any]:
        """A cohort has a part that is asked for again while it runs, and each run of it a page."""
        seen = self.admin_site.admin_view
        own = [
            path("try/", seen(show_try), name="replays_cohortreplay_try"),
            path("<uuid:cohort_id>/now/", seen(self.now_view), name="replays_cohortreplay_now"),
            path("<uuid:cohort_id>/runs/<int:result>/", seen(self.run_view), name="replays_cohortreplay_run"),
        ]  # fmt: skip
        urls: list[Any] = super().get_urls()
        return own + urls

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show a cohort; nothing is changed by it."""
        cohort = self.get_object(request, object_id)
        if request.method not in {"GET", "HEAD"} or not self.has_view_permission(request, cohort):
            raise PermissionDenied
        if cohort is None:
            redirect: HttpResponse = self._get_obj_does_not_exist_redirect(
                request, self.opts, object_id
            )
            return redirect
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Past runs of {cell(cohort.agent_key)}",
            "tried": page.tried_of(cohort.override),
            "override": page.override_of(cohort),
            "mission": named_mission_link(cohort.mission, stands_in=_request_id(cohort)),
            **self._now(request, cohort),
        }
        return TemplateResponse(request, "admin/replays/cohortreplay/page.html", context)

    def now_view(self, request: HttpRequest, cohort_id: UUID) -> HttpResponse:
        """Show the part of that page that changes; `X-Liyagent-Ended` says whether it will again."""
        cohort = self._seen(request, cohort_id)
        told = self._now(request, cohort)
        headers = {
            "X-Liyagent-Ended": "no" if told["is_live"] else "yes",
            "Cache-Control": "no-store",
        }
        return TemplateResponse(
            request, "admin/replays/cohortreplay/now.html", told, headers=headers
        )

    def run_view(self, request: HttpRequest, cohort_id: UUID, result: int) -> HttpResponse:
        """Show one run beside its replay."""
        cohort = self._seen(request, cohort_id)
        row = Replayed.objects.filter(cohort_id=cohort.id, pk=result).first()
        if row is None:
            raise Http404
        links = {"cohort": self.page_address(cohort)}
        if request.user.has_perm(VIEW_RUN):
            links["run"] = reverse("admin:runs_run_change", args=[row.run_id])
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Run {row.run_id}, replayed",
            "tried": page.tried_of(cohort.override),
            "links": links,
            **run_told(
                cohort,
                row,
                with_words=request.user.has_perm(READ_WORDS),
                currency=active_prices().currency,
            ),
        }
        return TemplateResponse(request, "admin/replays/cohortreplay/run.html", context)

    @action(description="Try another model", permissions=["ask"], url_path="try-another")
    def try_another(self, request: HttpRequest) -> HttpResponse:
        """Lead to the form."""
        return HttpResponseRedirect(reverse("admin:replays_cohortreplay_try"))

    @action(description="Cancel", permissions=["ask"])
    def cancel(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then end it."""
        cohort: CohortReplay = self.row_or_404(request, object_id)
        if request.method == "POST":
            actor = request.user.get_username()
            self.carry_out(
                request,
                lambda: cancel_replay(cohort.id, actor=actor),
                done="It is cancelled: what was replayed until now is kept, and makes no verdict.",
            )
            return HttpResponseRedirect(self.page_address(cohort))
        told = ["No further run of it is replayed, and what is under way is thrown away. What was replayed until now is kept, and makes no verdict."]  # fmt: skip
        return self.confirm(
            request, title="Cancel this replay", told=told, button="Cancel it", form=NothingToSay(),
            extra={"cancel": self.page_address(cohort)},
        )  # fmt: skip

    def _seen(self, request: HttpRequest, cohort_id: UUID) -> CohortReplay:
        if request.method not in {"GET", "HEAD"} or not self.has_view_permission(request):
            raise PermissionDenied
        cohort: CohortReplay = self.row_or_404(request, str(cohort_id))
        return cohort

    def _now(self, request: HttpRequest, cohort: CohortReplay) -> dict[str, Any]:
        return {
            **page.now_told(cohort),
            "verified": page.verified_of(cohort),
            "limit_of_it": LIMIT_OF_IT,
            "may_ask": self.has_ask_permission(request),
            "sees_runs": request.user.has_perm(VIEW_RUN),
            "links": _links(request, cohort),
        }

    @admin.display(description="asked for")
    def asked(self, cohort: CohortReplay) -> SafeString:
        """When it was asked for."""
        return when(cohort.created_at)

    @admin.display(description="state")
    def state(self, cohort: CohortReplay) -> SafeString:
        """Where it stands."""
        return page.state_of(cohort)

    @admin.display(description="came out")
    def came_out(self, cohort: CohortReplay) -> SafeString | str:
        """Its verdict."""
        return page.verdict_of(cohort.verdict) or format_html("{}", "-")

    @admin.display(description="agent")
    def agent(self, cohort: CohortReplay) -> SafeString:
        """Of which agent."""
        return format_html('{} <span class="liy-age">version {}</span>', cell(cohort.agent_key), cohort.agent_version)  # fmt: skip

    @admin.display(description="tried")
    def tried(self, cohort: Any) -> SafeString:
        """What was another."""
        told = {"model": cohort.tried_model, "provider": cohort.tried_provider}
        if cohort.tries_instructions:
            told["instructions"] = "other"
        return format_html('<span class="liy-wrap">{}</span>', page.tried_of(told))

    @admin.display(description="runs")
    def figures(self, cohort: CohortReplay) -> SafeString:
        """How many runs."""
        return format_html("{}", len(cohort.runs)) if cohort.runs else pill("none", QUIET)

    @admin.display(description="mission")
    def named_mission(self, cohort: Any) -> SafeString:
        """The mission where somebody named one."""
        return named_mission_link(cohort.mission, stands_in=cohort.request_id)


def _request_id(cohort: CohortReplay) -> str:
    """The id that stands in for a mission where nobody named one."""
    if cohort.job_id is None:
        return ""
    asked = Job.objects.filter(id=cohort.job_id).values_list("request_id", flat=True)
    return asked.first() or ""


def _links(request: HttpRequest, cohort: CohortReplay) -> dict[str, str]:
    """Return where the page leads, as far as the user may follow."""
    user = request.user
    found = {
        "now": reverse("admin:replays_cohortreplay_now", args=[cohort.id]),
        "cancel": reverse("admin:replays_cohortreplay_cancel", args=[cohort.id]),
        "again": f"{reverse('admin:replays_cohortreplay_try')}?{urlencode({'agent': cohort.agent_key, 'again': cohort.id})}",
    }
    if user.has_perm("agents.view_agent"):
        found["agent"] = f"{reverse('admin:agents_agent_changelist')}?q={cohort.agent_key}"
        if cohort.job_id is not None:
            found["job"] = reverse("admin:jobs_job_change", args=[cohort.job_id])
    if user.has_perm("audit.view_auditrow"):
        found["audit"] = f"{reverse('admin:audit_auditrow_changelist')}?q={cohort.id}"
    return found
