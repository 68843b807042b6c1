"""Runs in the console: to read, and to stop. No list reads a body; marked calls are in `doubts_admin`."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.views import ChangeList

from liyagent.access.permissions import OPERATE, READ_WORDS
from liyagent.core.console import ReasonForm, action
from liyagent.core.errors import LiyagentError
from liyagent.core.moments import when
from liyagent.core.pills import BAD, pill
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell
from liyagent.leases.models import Holder
from missions.links import named_mission_link
from runs.doubts_admin import as_uuid, sees_requests
from runs.filters import (
    ByAgent,
    ByEntry,
    ByError,
    ByStart,
    ByStatus,
    ByUnknown,
    ByWorkflow,
    looked_through,
)
from runs.go_on import may_be_continued
from runs.go_on_page import ask_to_go_on
from runs.head import BODIES
from runs.models import ROOT_LOOP, Run
from runs.raw_event import raw_event
from runs.rests import Rest, rests_of
from runs.run_view import VIEW_EVENTS, run_context
from runs.sagas_admin import SagaAdmin
from runs.states import state_of
from runs.stop import stop_run
from runs.stop_told import UNDO_HEADS, owed_of, stop_preview
from runs.told_events import LAST
from runs.undo_run import is_undo_run
from runs.unknown import with_unknown_writes
from runs.waits import Wait, waits_of

__all__ = ["RunAdmin", "SagaAdmin"]
LONGEST_REASON = 90
# So many are asked about, and stopped, at once.
MOST_STOPPED = 200


class RunList(ChangeList):  # type: ignore[misc]
    """A page of runs, each with `wait_told`: two statements more, and none where no run of the page is at rest."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        """As the theme's, with what the runs wait for."""
        super().get_results(request)
        self.result_list = list(self.result_list)
        waits, leads = waits_of(self.result_list), sees_requests(request.user)
        rests = rests_of(it for it in self.result_list if it.id not in waits)
        for run in self.result_list:
            wait, rest = waits.get(run.id), rests.get(run.id)
            run.wait_told = (
                wait_told(wait, leads=leads) if wait else rest_told(rest) if rest else ""
            )


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    """Newest first."""

    list_display = (
        "started",
        "state",
        "agent",
        "why",
        "figures",
        "unknown",
        "held_by",
        "named_mission",
        "run_id",
    )
    list_display_links = ("started", "run_id")
    list_filter = (ByStatus, ByUnknown, ByAgent, ByError, ByEntry, ByStart, ByWorkflow)
    search_fields = ("id",)
    search_help_text = "A run's id, its correlation id or its mission, in full"
    sortable_by = ()
    ordering = ("-created_at", "-id")
    words_if_empty = "No run was started yet."
    words_if_not_found = "Search for the id, the correlation id or the mission, in full."
    actions = ("stop_chosen",)
    list_before_template = "admin/runs/run/about.html"
    actions_detail = ("stop", "go_on")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave the seal in the database; bring the holder's name along."""
        name = Holder.objects.filter(id=OuterRef("holder")).values("name")
        rows = super().get_queryset(request).defer(*BODIES)
        named: QuerySet[Any] = with_unknown_writes(rows).annotate(holder_name=Subquery(name))
        return named

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Look by what an index leads to alone."""
        rows = looked_through(queryset, request.GET)
        term = search_term.strip()
        if not term:
            return rows, False
        run_id = as_uuid(term)
        found = Q(mission=term)
        return rows.filter(
            Q(id=run_id) | Q(correlation_id=run_id) | found if run_id else found
        ), False

    def has_stop_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Stopping needs what the API wants for it."""
        return request.user.has_perm(OPERATE)

    def has_go_on_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Going on needs what a start wants."""
        return request.user.has_perm(OPERATE)

    @admin.display(description="started")
    def started(self, run: Run) -> SafeString:
        """When it was accepted."""
        return when(run.created_at)

    @admin.display(description="status")
    def state(self, run: Run) -> SafeString:
        """Its status, and whether somebody asked it to stop."""
        return state_of(run)

    @admin.display(description="agent")
    def agent(self, run: Run) -> SafeString:
        """The agent, its version and the way in; of which workflow it is, or that it undoes another's writes."""
        return format_html(
            '{}{} <span class="liy-age">version {}, by {}</span>',
            run.agent_key,
            _what_it_is(run),
            run.agent_version,
            run.entry,
        )

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """A list that knows what those runs of a page wait for that wait."""
        return RunList

    @admin.display(description="why it ended, or waits")
    def why(self, run: Any) -> SafeString:
        """The code, and the beginning of the reason; of a run that waits, for what."""
        if run.wait_told:
            told: SafeString = run.wait_told
            return told
        if not run.error and not run.reason:
            return format_html("{}", "-")
        reason = (
            run.reason if len(run.reason) <= LONGEST_REASON else f"{run.reason[:LONGEST_REASON]}…"
        )
        return format_html(
            '<span class="liy-mono">{}</span> <span class="liy-age liy-wrap">{}</span>',
            run.error,
            cell(reason),
        )

    @admin.display(description="steps")
    def figures(self, run: Run) -> SafeString:
        """Its model steps, and how often it was lost."""
        losses = f"{run.losses} loss{'es' if run.losses != 1 else ''}" if run.losses else ""
        return format_html('{} <span class="liy-age">{}</span>', run.model_steps, losses)

    @admin.display(description="unknown writes")
    def unknown(self, run: Any) -> SafeString:
        """Say how many of its writes are of unknown outcome."""
        return pill(run.unknown_writes, BAD) if run.unknown_writes else format_html("{}", "-")

    @admin.display(description="held by")
    def held_by(self, run: Any) -> str:
        """Name who carries the run."""
        return cell(run.holder_name or run.holder)

    @admin.display(description="mission")
    def named_mission(self, run: Run) -> SafeString:
        """Lead to the mission where somebody named one."""
        return named_mission_link(run.mission, stands_in=run.correlation_id)

    @admin.display(description="run")
    def run_id(self, run: Run) -> SafeString:
        """Its id, in full."""
        return format_html('<span class="liy-mono">{}</span>', run.id)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the page of a run; nothing is changed by it."""
        run = self.get_object(request, object_id)
        if request.method not in {"GET", "HEAD"} or not self.has_view_permission(request, run):
            raise PermissionDenied
        if run is None:
            redirect: HttpResponse = self._get_obj_does_not_exist_redirect(
                request, self.opts, object_id
            )
            return redirect
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Run {run.id}",
            "may_stop": self.has_stop_permission(request)
            and not run.is_ended
            and not run.stop_requested,
            "may_go_on": self.has_go_on_permission(request) and may_be_continued(run),
            "links": {
                "stop": reverse("admin:runs_run_stop", args=[run.id]),
                "go_on": reverse("admin:runs_run_go_on", args=[run.id]),
            },
            **run_context(request, run),
            **self.beside(request, run),
        }
        return TemplateResponse(request, "admin/runs/run/page.html", context)

    def beside(self, request: HttpRequest, run: Run) -> dict[str, Any]:
        """Return what the rooms above tell of a run; this one does not know them."""
        return {}

    def get_urls(self) -> list[Any]:
        """Each event of a run's chain has a page: it as it is stored."""
        shown = self.admin_site.admin_view(self.event_view)
        own = [path("<uuid:run_id>/event/<int:number>/", shown, name="runs_run_event")]
        urls: list[Any] = super().get_urls()
        return own + urls

    def event_view(self, request: HttpRequest, run_id: UUID, number: int) -> HttpResponse:
        """Show one stored event, to be copied; nothing is changed by it."""
        run = self.get_object(request, str(run_id))
        is_seen = self.has_view_permission(request, run) and request.user.has_perm(VIEW_EVENTS)
        if request.method not in {"GET", "HEAD"} or not is_seen:
            raise PermissionDenied
        with_words = request.user.has_perm(READ_WORDS)
        event = raw_event(run, min(number, LAST), with_words=with_words) if run else None
        if run is None or event is None:
            raise Http404(f"No event {number} is kept of this run's chain.")
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Event {number}",
            "run": run,
            "event": event,
        }
        return TemplateResponse(request, "admin/runs/run/event.html", context)

    @action(description="Go on from it", permissions=["go_on"], url_path="go-on")
    def go_on(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for a word, then start a run that goes on from this one."""
        return ask_to_go_on(self, request, self.row_or_404(request, object_id))

    @action(description="Stop", permissions=["stop"])
    def stop(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask why, then ask the run to stop."""
        run = self.row_or_404(request, object_id)
        form = ReasonForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            actor, reason = request.user.get_username(), form.cleaned_data["reason"]
            self.carry_out(
                request,
                lambda: stop_run(run_id=run.id, actor=actor, reason=reason),
                done=f"Run {run.id} is asked to stop; it ends at its next statement.",
            )
            return HttpResponseRedirect(self.page_address(run))
        preview = stop_preview(run)
        below = {"title": "What would be undone", "heads": UNDO_HEADS, "rows": preview.rows}
        return self.confirm(
            request, title="Stop this run", told=preview.told, button="Stop the run", form=form, rows=[stop_row(run)],
            extra={"heads": STOP_HEADS, "cancel": self.page_address(run), "below": below if preview.rows else None},
        )  # fmt: skip

    @action(description="Stop the chosen runs", permissions=["stop"])
    def stop_chosen(self, request: HttpRequest, queryset: QuerySet[Run]) -> HttpResponse | None:
        """Say how many and which, ask why, then ask each to stop."""
        chosen = list(queryset.order_by("created_at", "id")[: MOST_STOPPED + 1])
        runs = [run for run in chosen[:MOST_STOPPED] if not run.is_ended]
        form = ReasonForm(request.POST if "confirmed" in request.POST else None)
        if runs and "confirmed" in request.POST and form.is_valid():
            actor, reason = request.user.get_username(), form.cleaned_data["reason"]
            asked = sum(self.try_to_stop(request, run, actor=actor, reason=reason) for run in runs)
            self.message_user(request, f"{asked} of {len(runs)} runs are asked to stop.")
            return None
        if not runs:
            self.message_user(request, "All of the chosen runs have ended: nothing is stopped.")
            return None
        owed = owed_of(runs)
        return self.confirm(
            request,
            title=f"Stop {len(runs)} run{'s' if len(runs) != 1 else ''}",
            told=stop_told(chosen, runs),
            button=f"Stop {len(runs)} run{'s' if len(runs) != 1 else ''}",
            form=form,
            rows=[(*stop_row(run), owed.get(run.id) or "-") for run in runs],
            hidden=[
                ("action", "stop_chosen"),
                *(("_selected_action", str(run.id)) for run in runs),
            ],
            extra={"heads": (*STOP_HEADS, "Writes to undo")},
        )

    def try_to_stop(self, request: HttpRequest, run: Run, *, actor: str, reason: str) -> bool:
        """Ask one run to stop; one that cannot be is told of."""
        try:
            stop_run(run_id=run.id, actor=actor, reason=reason)
        except LiyagentError as error:
            self.message_user(request, f"{run.id}: {error}", messages.WARNING)
            return False
        return True


STOP_HEADS = ("Run", "Agent", "Status", "Started", "Steps")


def _what_it_is(run: Run) -> SafeString:
    if is_undo_run(run):
        return format_html('<span class="liy-age liy-wrap">{}</span>', "undoes what its run did")
    if not run.workflow:
        return format_html("{}", "")
    what = "workflow" if run.loop == ROOT_LOOP else "a branch of workflow"
    return format_html('<span class="liy-age liy-wrap">{} {}</span>', what, cell(run.workflow))


def rest_told(rest: Rest) -> SafeString:
    """Return until when and for what a run of the list rests."""
    what = f"for {rest.what}" if rest.what else ""
    if rest.until is None:
        return format_html('waits <span class="liy-wrap">{}</span>', cell(what))
    return format_html('rests until {} <span class="liy-wrap">{}</span>', when(rest.until), what)


def wait_told(wait: Wait, *, leads: bool) -> SafeString:
    """Return what a run of the list waits for, as the way there; `leads`: to requests too."""
    if wait.approval is None:
        address = reverse("admin:runs_run_change", args=[wait.run])
        return format_html(
            'waits for <a class="liy-link" href="{}">the run it handed work to</a>, {}', address, wait.run_status
        )  # fmt: skip
    call = "the question of its workflow" if wait.is_question else wait.call
    if not leads:
        return format_html('waits for a person: <span class="liy-wrap">{}</span>', cell(call))
    address = reverse("admin:approvals_approval_change", args=[wait.approval])
    return format_html(
        'waits for a person: <a class="liy-link liy-wrap" href="{}">{}</a>',
        address,
        cell(call),
    )


def stop_row(run: Run) -> tuple[object, ...]:
    """Return what a confirmation shows of a run."""
    return (run.id, run.agent_key, state_of(run), when(run.created_at), run.model_steps)


def stop_told(chosen: list[Run], runs: list[Run]) -> list[str]:
    """Return what a confirmation says of the chosen runs."""
    told = [
        "Each ends at its next statement. Writes under way are settled by the rules. Then what it did and can be undone is undone,"
        " unless its workflow says that a stopped run keeps it; its own form of a Stop names each."
    ]
    ended = min(len(chosen), MOST_STOPPED) - len(runs)
    if ended:
        told.append(f"{ended} of the chosen runs have ended and are left alone.")
    if len(chosen) > MOST_STOPPED:
        told.append(
            f"More than {MOST_STOPPED} were chosen: these are the oldest {MOST_STOPPED}; stop the others after them."
        )
    return told
