"""Sagas in the console: what runs did, what of it is undone, what is left, and a person's word on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.views import ChangeList

from liyagent.access.permissions import OPERATE, VIEW_RUN
from liyagent.core.console import ReasonForm, action
from liyagent.core.moments import when
from liyagent.core.pills import QUIET, pill
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell
from missions.links import named_mission_link
from runs.close_saga import close_saga
from runs.compensate import TO_TRY, compensate_run
from runs.doubts_admin import as_uuid
from runs.filters import ByAgent, ByWorkflow, OneOf
from runs.listing import MOST_LOOKED_THROUGH
from runs.run_view import mission_page
from runs.saga_state import counts_of, state_of
from runs.saga_view import saga_context
from sagas.models import Saga, SagaStatus, Undo, UndoFate
from sagas.needing import needing_a_person
from sagas.wording import CAUSES, FATES, SHORT, STATUSES

# So many undos are named where a person is asked whether they shall be made.
MOST_NAMED = 50
NEEDS, ALL = "needs", "all"
MOST_OF_A_MISSION = MOST_NEEDING = 1_000
HEADS = ("№", "What was done", "Undone by", "Stands")
# What an index leads to, in this order of preference.
LEADING = ("agent_key", "status")


class ByStatus(admin.SimpleListFilter):
    """Chooses a status, or what needs a person."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the statuses, and what needs a person."""
        return [(NEEDS, "needs a person"), *((name, words) for name, (words, _) in STATUSES.items())]  # fmt: skip

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the sagas of the choice."""
        chosen = self.value()
        if chosen == NEEDS:
            # Their ids, not a condition: no index of the others can then be taken for a shorter way.
            newest = needing_a_person().order_by("-created_at", "-id").values_list("pk", flat=True)
            return queryset.filter(pk__in=list(newest[:MOST_NEEDING]))
        return queryset.filter(status=chosen) if chosen else queryset


class ByCause(OneOf):
    """Chooses why what they did is undone."""

    title = "undone because"
    parameter_name = column = "cause"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the causes."""
        return list(CAUSES.items())


class SagaList(ChangeList):  # type: ignore[misc]
    """A page of sagas, each with `counts` of its undos: one statement more."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        """As the theme's, with what became of the undos."""
        super().get_results(request)
        self.result_list = list(self.result_list)
        counts = counts_of([it.id for it in self.result_list])
        for saga in self.result_list:
            saga.counts = counts.get(saga.id, {})


@admin.register(Saga)
class SagaAdmin(ReadOnlyAdmin):
    """Newest first."""

    list_display = ("began", "state", "of", "figures", "hand_off", "named_mission", "run_id")
    list_display_links = ("began", "run_id")
    list_filter = (ByStatus, ByAgent, ByCause, ByWorkflow)
    search_fields = ("id",)
    search_help_text = "A run's id, or a mission (its newest 1,000), in full"
    sortable_by = ()
    ordering = ("-created_at", "-id")
    words_if_empty = (
        "No run made a write for which an undo is declared, and none was handed to a person."
    )
    words_if_not_found = "Search for a run's id or mission, in full."
    words_above = (
        "What runs did that can be undone. A run that answers keeps it, and its saga is closed; of one that fails it is undone, "
        "the newest first. Open one to see what is left, and what to do."
    )
    actions_detail = ("compensate", "close")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever sees runs sees what is undone of them."""
        return request.user.has_perm(VIEW_RUN)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As above."""
        return request.user.has_perm(VIEW_RUN)

    def has_operate_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Undoing and closing need what a Stop needs."""
        return request.user.has_perm(OPERATE)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave the sealed context in the database."""
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.defer("context")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """A list that knows what became of the undos of a page."""
        return SagaList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Look by what an index leads to alone."""
        rows, term = looked_through(queryset, request.GET), search_term.strip()
        if not term:
            return rows, False
        run_id = as_uuid(term)
        if run_id is not None:
            return rows.filter(Q(id=run_id) | Q(mission=term)), False
        of_mission = Saga.objects.filter(mission=term).order_by("-created_at", "-id")
        found = list(of_mission.values_list("id", flat=True)[:MOST_OF_A_MISSION])
        return rows.filter(id__in=found), False

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the page of a saga; nothing is changed by it."""
        saga = self.get_object(request, object_id)
        if request.method not in {"GET", "HEAD"} or not self.has_view_permission(request, saga):
            raise PermissionDenied
        if saga is None:
            redirect: HttpResponse = self._get_obj_does_not_exist_redirect(
                request, self.opts, object_id
            )
            return redirect
        told = saga_context(request, saga)
        may = self.has_operate_permission(request)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Saga of run {saga.id}",
            "may_compensate": may and may_be_compensated(saga),
            "may_close": may and may_be_closed(saga),
            "links": {
                "compensate": reverse("admin:sagas_saga_compensate", args=[saga.id]),
                "close": reverse("admin:sagas_saga_close", args=[saga.id]),
                "around": around(request, saga),
            },
            **told,
        }
        return TemplateResponse(request, "admin/sagas/saga/page.html", context)

    @action(description="Compensate what is owed", permissions=["operate"])
    def compensate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Say exactly what will be undone, ask why, then start the round that undoes it."""
        saga = self.row_or_404(request, object_id)
        form = ReasonForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            actor, reason = request.user.get_username(), form.cleaned_data["reason"]
            self.carry_out(
                request,
                lambda: compensate_run(run_id=saga.id, actor=actor, reason=reason),
                done="It is being undone: a run makes what is owed, the newest first. Load this page again in a moment.",
            )
            return HttpResponseRedirect(self.page_address(saga))
        rows = Undo.objects.filter(saga_id=saga.id).defer("sealed", "outcome").order_by("-order")
        to_try = list(rows.filter(fate__in=TO_TRY)[: MOST_NAMED + 1])
        return self.confirm(
            request, title="Compensate what is owed", told=told_of_round(saga, to_try), button="Compensate what is owed",
            form=form, rows=[named(it) for it in to_try[:MOST_NAMED]], extra={"heads": HEADS, "cancel": self.page_address(saga)},
        )  # fmt: skip

    @action(description="Close with a reason", permissions=["operate"])
    def close(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Say what stays as it is, ask why, then close it."""
        saga = self.row_or_404(request, object_id)
        form = OneLineForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            actor, reason = request.user.get_username(), form.cleaned_data["reason"]
            self.carry_out(
                request,
                lambda: close_saga(run_id=saga.id, actor=actor, reason=reason),
                done="It is closed: nothing more of it is undone.",
            )
            return HttpResponseRedirect(self.page_address(saga))
        rows = Undo.objects.filter(saga_id=saga.id).exclude(fate=UndoFate.DONE)
        left = list(rows.defer("sealed", "outcome").order_by("-order")[: MOST_NAMED + 1])
        return self.confirm(
            request, title="Close this saga", told=told_of_closing(saga, left), button="Close it for good", form=form,
            rows=[named(it) for it in left[:MOST_NAMED]], extra={"heads": HEADS, "cancel": self.page_address(saga)},
        )  # fmt: skip

    @admin.display(description="began")
    def began(self, saga: Saga) -> SafeString:
        """When its first write was registered, or it was handed off."""
        return when(saga.created_at)

    @admin.display(description="status")
    def state(self, saga: Saga) -> SafeString:
        """Where it stands, in words, and why its run ended."""
        at = f", at step {saga.failed_step}" if saga.failed_step else ""
        why = f"{CAUSES.get(saga.cause, saga.cause)}{at}" if saga.cause else saga.closed_reason
        told = format_html('<span class="liy-age liy-wrap">{}</span>', cell(why)) if why else ""
        return format_html("{} {}", state_of(saga), told)

    @admin.display(description="of")
    def of(self, saga: Saga) -> SafeString:
        """Its workflow, else its agent."""
        if not saga.workflow:
            return format_html('agent <span class="liy-wrap">{}</span>', cell(saga.agent_key))
        return format_html(
            'workflow <span class="liy-wrap">{}</span> <span class="liy-age liy-wrap">of agent {}</span>',
            cell(saga.workflow),
            cell(saga.agent_key),
        )

    @admin.display(description="its writes")
    def figures(self, saga: Any) -> SafeString:
        """How many came to what."""
        if not saga.counts:
            return format_html("{}", "-")
        told = [
            (number, *_told_as(name, saga.status))
            for name in FATES
            if (number := saga.counts.get(name))
        ]
        return format_html_join(" ", "{}", ((pill(f"{number} {words}", kind),) for number, words, kind in told))  # fmt: skip

    @admin.display(description="hand-off")
    def hand_off(self, saga: Saga) -> SafeString:
        """How it goes, or went, to a person."""
        if not saga.handoff or saga.handoff == "none":
            return format_html("{}", "none" if saga.handoff else "-")
        told = when(saga.handed_off_at) if saga.handed_off_at else pill("not yet", QUIET)
        name = saga.handoff_id if saga.handoff == "ticket" and saga.handoff_id else saga.handoff
        # One box: on a phone a cell's parts stand beside each other, and a bare word would be broken letter by letter.
        return format_html("<div>{} {}</div>", cell(name), told)

    @admin.display(description="mission")
    def named_mission(self, saga: Saga) -> SafeString:
        """Lead to the mission where somebody named one."""
        return named_mission_link(saga.mission, stands_in=saga.id)

    @admin.display(description="run")
    def run_id(self, saga: Saga) -> SafeString:
        """The root run's id, in full."""
        return format_html('<span class="liy-mono">{}</span>', saga.id)


class OneLineForm(ReasonForm):
    """Why, as it is kept: on one line."""

    def clean_reason(self) -> str:
        """Return it on one line."""
        return " ".join(str(self.cleaned_data["reason"]).split())


def looked_through(rows: QuerySet[Any], asked: Any) -> QuerySet[Any]:
    """Bound a list by what no index leads to, to the newest 10,000 sagas that one leads to."""
    chosen = {it: asked[it] for it in (*LEADING, "cause", "workflow") if asked.get(it)}
    if chosen.get("status") == NEEDS:
        # Those are of the newest 10,000 that were left.
        return rows
    leading = next((it for it in LEADING if it in chosen), "")
    if not set(chosen) - {leading}:
        return rows
    within = Saga.objects.filter(**{leading: chosen[leading]} if leading else {})
    newest = within.order_by("-created_at", "-id").values_list("created_at", flat=True)
    bottom = next(iter(newest[MOST_LOOKED_THROUGH - 1 : MOST_LOOKED_THROUGH]), None)
    return rows if bottom is None else rows.filter(created_at__gte=bottom)


def may_be_compensated(saga: Saga) -> bool:
    """Whether there is something to undo and nobody at it."""
    if saga.status in {SagaStatus.OPEN, SagaStatus.CLOSED, SagaStatus.COMPENSATING}:
        return False
    return Undo.objects.filter(saga_id=saga.id, fate__in=TO_TRY).exists()


def may_be_closed(saga: Saga) -> bool:
    """Whether it can be closed: its run has ended, nobody is at it, and nobody closed it."""
    return saga.status not in {SagaStatus.OPEN, SagaStatus.CLOSED, SagaStatus.COMPENSATING}


def told_of_round(saga: Saga, to_try: list[Undo]) -> list[str]:
    """Return what a confirmation says of the round that would begin."""
    if not to_try:
        return ["Nothing of it is owed: nothing would be undone."]
    number = f"More than {MOST_NAMED}" if len(to_try) > MOST_NAMED else str(len(to_try))
    is_one = len(to_try) == 1
    told = [
        f"{number} undo{' is' if is_one else 's are'} made, {'' if is_one else 'the newest first, '}through the same gates as any call:"
        " what is held waits for a person. One that fails is tried three times, and keeps no other from being made.",
        "What is undone, is held, is of unknown outcome or has no arguments is left as it is.",
    ]
    if len(to_try) > MOST_NAMED:
        told.append(f"Here are the first {MOST_NAMED}; all of them are made.")
    return told


def told_of_closing(saga: Saga, left: list[Undo]) -> list[str]:
    """Return what a confirmation says of closing it."""
    held = sum(it.fate == UndoFate.HELD for it in left)
    told = ["Nothing more of it is undone, by anybody. This cannot be taken back."]
    if left:
        more = f"; here are {MOST_NAMED} of them" if len(left) > MOST_NAMED else ""
        told.append(f"What stands below is not undone, and stays as it is{more}.")
    if held:
        told.append("Requests for what is held are withdrawn: approved later, it is not there any more.")  # fmt: skip
    if saga.handoff == "approval" and saga.handoff_id:
        told.append("The request to begin it again is withdrawn too, if nobody has decided about it.")  # fmt: skip
    if saga.handoff == "ticket" and saga.handoff_id:
        told.append(f"Ticket {cell(saga.handoff_id)} stays as it is: see to it as well.")
    return told


def named(undo: Undo) -> tuple[object, ...]:
    """Return a row that names an undo where a person is asked."""
    return (
        undo.order,
        cell(f"{undo.of_server}/{undo.of_tool}"),
        cell(f"{undo.server}/{undo.tool}"),
        pill(*FATES.get(undo.fate, (undo.fate, QUIET))),
    )


def around(request: HttpRequest, saga: Saga) -> list[tuple[str, str]]:
    """Return addresses of what belongs to it, each with its name, as far as the user may follow."""
    user, found = request.user, []
    mission = mission_page(saga.mission)
    if mission:
        found.append((mission, "Everything for its mission"))
    if user.has_perm("runs.view_call"):
        address = reverse("admin:runs_call_changelist")
        found.append((f"{address}?q={saga.id}&doubt=all", "Marked writes of its run"))
    if user.has_perm("audit.view_auditrow"):
        found.append((f"{reverse('admin:audit_auditrow_changelist')}?q={saga.id}", "Audit rows"))
    return found


def _told_as(fate: str, status: str) -> tuple[str, str]:
    if fate == UndoFate.OWED and status == SagaStatus.OPEN:
        return "can be undone", QUIET
    if fate == UndoFate.OWED and status == SagaStatus.CLOSED:
        return "kept", QUIET
    return SHORT[fate], FATES[fate][1]
