"""Tickets in the console: a list, and a page with all that one is about, to comment on it and to change it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.access.permissions import READ_WORDS, VIEW_TICKET, WORK_ON_TICKETS
from liyagent.core.console import action
from liyagent.core.errors import BadInput
from liyagent.core.moments import when
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell
from liyagent.tickets import pages
from liyagent.tickets.change_ticket import CHANGED, change_ticket
from liyagent.tickets.comment_ticket import comment_ticket
from liyagent.tickets.find import serial_in
from liyagent.tickets.forms import ChangeForm, CommentForm
from liyagent.tickets.models import Ticket, TicketState
from liyagent.tickets.told import comments_told, ticket_told
from missions.links import named_mission_link

# Of a mission or a queue so many are found.
MOST_FOUND = 1_000
CLOSED_FOR_GOOD = "Closed is the end: nothing of it changes any more, and nothing is written on it."

# What a ticket is filed for that has a page of its own.
SAGA = "saga"


@admin.register(Ticket)
class TicketAdmin(ReadOnlyAdmin):
    """What people are to do, the newest first."""

    list_display = (
        "number_told",
        "state_told",
        "priority_told",
        "about",
        "filed",
        "for_run",
        "shown_mission",
    )
    list_display_links = ("number_told", "about")
    list_filter = ("state", "priority")
    search_fields = ("run_id",)
    search_help_text = "A number, a run's id, a mission or a queue (their newest 1,000), in full"
    sortable_by = ()
    words_if_empty = (
        "There is no ticket yet. A failed run files one where its hand-off is a ticket."
    )
    words_above = "What failed runs left to people. Open one to see all that it is about, to write on it, and to say where it stands."
    actions_detail = ("comment", "change_it")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever works on tickets has to see them."""
        return request.user.has_perm(VIEW_TICKET) or self.has_work_permission(request)

    def has_work_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """What the API wants for it."""
        return request.user.has_perm(WORK_ON_TICKETS)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave the bodies in the database where a list is shown."""
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.defer("sealed")

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """By its number too, so that other pages can lead to it."""
        serial = serial_in(object_id)
        if serial is not None:
            return self.get_queryset(request).filter(serial=serial).first()
        return super().get_object(request, object_id, from_field)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Look by what an index leads to alone."""
        term = search_term.strip()
        if not term:
            return queryset, False
        serial, run_id = serial_in(term), _as_uuid(term)
        if serial is not None:
            return queryset.filter(serial=serial), False
        if run_id is not None:
            return queryset.filter(run_id=run_id), False
        newest = Ticket.objects.order_by("-serial").values_list("serial", flat=True)
        serials = list(
            newest.filter(mission=term)[:MOST_FOUND] or newest.filter(queue=term)[:MOST_FOUND]
        )
        # Their numbers, not a condition: no index of the others can then be taken for a shorter way.
        return queryset.filter(serial__in=serials), False

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show a ticket; nothing is changed by it."""
        ticket: Ticket | None = self.get_object(request, object_id)
        if request.method not in {"GET", "HEAD"} or not self.has_view_permission(request, ticket):
            raise PermissionDenied
        if ticket is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        return TemplateResponse(
            request, "admin/tickets/ticket/page.html", self._shown(request, ticket)
        )

    def _shown(self, request: HttpRequest, ticket: Ticket) -> dict[str, Any]:
        may_work = self.has_work_permission(request)
        with_words = may_work or request.user.has_perm(READ_WORDS)
        told = ticket_told(ticket, with_words=with_words)
        comments, before = told.comments, told.before
        asked = request.GET.get("before", "")
        if asked:
            comments, before = self._before(request, ticket, asked, with_words=with_words)
        is_closed = ticket.state == TicketState.CLOSED
        change = reverse("admin:tickets_ticket_change_it", args=[ticket.pk])
        ways = [(f"{change}?state={to.value}", words) for to, words in pages.WAYS[ticket.state]]
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Ticket {ticket}",
            "ticket": ticket,
            "subject": cell(ticket.subject),
            "state": pages.state_of(ticket),
            "priority": pages.priority_of(ticket),
            "queue": cell(ticket.queue),
            "sections": [] if told.body is None else pages.shown_sections(told.body),
            "words_missing": cell(told.words_missing) if told.words_missing else "",
            "comments": [pages.shown_comment(it) for it in comments],
            "before": before,
            "is_older": bool(asked),
            "may_work": may_work,
            "offers": may_work and not is_closed,
            "closed_words": CLOSED_FOR_GOOD if is_closed else "",
            "form": CommentForm(),
            "ways": ways,
            "facts": _facts(ticket),
            "links": {
                "comment": reverse("admin:tickets_ticket_comment", args=[ticket.pk]),
                "change": change,
                **_links(request, ticket),
            },
        }

    def _before(
        self, request: HttpRequest, ticket: Ticket, cursor: str, *, with_words: bool
    ) -> tuple[Any, str]:
        try:
            return comments_told(ticket, {"cursor": cursor}, with_words=with_words)
        except BadInput:
            return [], ""

    @action(description="Comment", permissions=["work"])
    def comment(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Write what was sent on the ticket; a form that cannot be used keeps what was typed."""
        ticket: Ticket = self.row_or_404(request, object_id)
        form = CommentForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            text, actor = form.cleaned_data["text"], request.user.get_username()
            self.carry_out(
                request,
                lambda: comment_ticket(number=ticket.number, text=text, actor=actor),
                done="Your comment stands on the ticket.",
            )
            return HttpResponseRedirect(f"{self.page_address(ticket)}#comments")
        return self.confirm(
            request, title=f"Comment on {ticket}", told=[cell(ticket.subject)], button="Comment", form=form,
            extra={"cancel": self.page_address(ticket), "is_harmless": True},
        )  # fmt: skip

    @action(description="Change", permissions=["work"], url_path="change-it")
    def change_it(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask what it shall be, then change it, unless somebody else did since it was shown."""
        ticket: Ticket = self.row_or_404(request, object_id)
        shown = {**{name: getattr(ticket, name) for name in CHANGED}, "revision": ticket.revision}
        if request.GET.get("state") in TicketState.values:
            shown["state"] = request.GET["state"]
        is_sent = request.method == "POST"
        form = ChangeForm(request.POST) if is_sent else ChangeForm(initial=shown)
        if is_sent and form.is_valid():
            given, actor = form.cleaned_data, request.user.get_username()
            self.carry_out(
                request,
                lambda: change_ticket(number=ticket.number, actor=actor, **given),
                done=f"{ticket} is changed.",
            )
            return HttpResponseRedirect(self.page_address(ticket))
        seen = request.POST.get("revision", "") if is_sent else str(ticket.revision)
        return self.confirm(
            request, title=f"Change {ticket}", told=[cell(ticket.subject), f"It is {STANDS[ticket.state]} now."],
            button="Change it", form=form, hidden=[("revision", seen)],
            extra={"cancel": self.page_address(ticket), "is_harmless": shown["state"] != TicketState.CLOSED},
        )  # fmt: skip

    @admin.display(description="ticket")
    def number_told(self, ticket: Ticket) -> SafeString:
        """Its number, as people call it."""
        return format_html('<span class="liy-when">{}</span>', ticket.number)

    @admin.display(description="state")
    def state_told(self, ticket: Ticket) -> SafeString:
        """Where it stands."""
        return pages.state_of(ticket)

    @admin.display(description="priority")
    def priority_told(self, ticket: Ticket) -> SafeString:
        """How soon somebody has to look."""
        return pages.priority_of(ticket)

    @admin.display(description="subject")
    def about(self, ticket: Ticket) -> SafeString:
        """What it is about, whose it is, and how much was written on it."""
        said = f", {ticket.comments} comment{'' if ticket.comments == 1 else 's'}"
        return format_html(
            '<span class="liy-wrap">{}</span> <span class="liy-age liy-wrap">{}{}</span>',
            cell(ticket.subject), cell(ticket.queue), said if ticket.comments else "",
        )  # fmt: skip

    @admin.display(description="filed")
    def filed(self, ticket: Ticket) -> SafeString:
        """When it was filed."""
        return when(ticket.created_at)

    @admin.display(description="run")
    def for_run(self, ticket: Ticket) -> SafeString:
        """Lead to the run."""
        if ticket.run_id is None:
            return format_html("{}", "-")
        address = reverse("admin:runs_run_change", args=[ticket.run_id])
        return format_html(
            '<a class="liy-link liy-mono" href="{}">{}</a> <span class="liy-age">{}</span>',
            address, ticket.run_id, cell(ticket.agent_key),
        )  # fmt: skip

    @admin.display(description="mission")
    def shown_mission(self, ticket: Ticket) -> SafeString:
        """The mission where somebody named one."""
        return named_mission_link(ticket.mission, stands_in=ticket.correlation_id or ticket.id)


STANDS = {state.value: words for state, (words, _) in pages.STATES.items()}


def _facts(ticket: Ticket) -> list[tuple[str, Any]]:
    changed = cell(ticket.changed_by) if ticket.changed_by else "nobody so far"
    return [
        ("Filed for", cell(ticket.source)),
        ("Agent", cell(ticket.agent_key)),
        (
            "Mission",
            named_mission_link(ticket.mission, stands_in=ticket.correlation_id or ticket.id),
        ),
        ("Filed", when(ticket.created_at)),
        ("By", cell(ticket.created_by)),
        ("Last touched", when(ticket.changed_at)),
        ("Changed by", changed),
        ("Closed", when(ticket.closed_at)),
    ]


def _links(request: HttpRequest, ticket: Ticket) -> dict[str, str]:
    """Return where the page leads, as far as the user may follow."""
    found = {}
    if ticket.run_id is not None and request.user.has_perm("runs.view_run"):
        found["run"] = reverse("admin:runs_run_change", args=[ticket.run_id])
        if ticket.source_kind == SAGA:
            found["saga"] = reverse("admin:sagas_saga_change", args=[ticket.run_id])
    if ticket.run_id is not None and request.user.has_perm("audit.view_auditrow"):
        found["audit"] = f"{reverse('admin:audit_auditrow_changelist')}?q={ticket.run_id}"
    return found


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
