"""The list of requests in the console: what waits, the oldest first; what was decided, the newest first."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery, Value
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.views import ChangeList

from liyagent.approvals import history, pages
from liyagent.approvals.authority import policies_changed, policies_now
from liyagent.approvals.filters import (
    PENDING,
    TABS,
    ByAgent,
    ByStatus,
    found,
    looked_through,
    order_of,
    status_asked,
    tabs_beside,
)
from liyagent.approvals.handlers import NO_CALLS, ROUTINE
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.saying import asks
from liyagent.core.moments import age, shown_now, when
from liyagent.core.pills import WARN, pill
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell

LONGEST_WHY = 120
# Of the digest so much is shown that calls on one page are told apart.
SHORT_DIGEST = 8


class Inbox(ChangeList):  # type: ignore[misc]
    """The list, which knows what it says where nothing is in it and nothing was searched for."""

    @property
    def words_if_empty(self) -> str:
        """What is said of the status alone; nothing where more was chosen."""
        tab = TABS.get(status_asked(self.params))
        return tab.empty if tab and not self.query and not self.params.get("agent_key") else ""


class InboxAdmin(ReadOnlyAdmin):
    """No list reads a body, and none looks further than an index leads."""

    list_display = ("asked", "call", "agent", "shown_mission", "run", "why", "until")
    list_display_links = ("asked", "call")
    list_filter = (ByStatus, ByAgent)
    search_fields = ("id",)
    search_help_text = "A request's id, its run's id or its mission, in full"
    sortable_by = ()
    words_if_empty = "Nothing waits for a person."
    list_before_template = "admin/approvals/approval/tabs.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave the sealed arguments in the database, and bring along what the policies in force are, and what was filed since in its place."""
        rows: QuerySet[Any] = super().get_queryset(request)
        later = Approval.objects.filter(replaces=OuterRef("pk")).values("id")
        told: QuerySet[Any] = rows.defer("sealed", "ceiling").annotate(
            policies_now=Value(policies_now()), replaced_by=Subquery(later[:1])
        )
        return told

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """What waits longest first; of what was decided the newest."""
        return order_of(request.GET)

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """Until when it waits; of what waits no more, what became of it."""
        if status_asked(request.GET) == PENDING:
            return self.list_display
        return (*self.list_display[:-1], "state")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Look by what an index leads to alone."""
        rows, term = looked_through(queryset, request.GET), search_term.strip()
        return (found(rows, term) if term else rows), False

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Bring the tabs along: each keeps what else was chosen."""
        chosen = status_asked(request.GET)
        tabs = []
        for status, tab in tabs_beside(chosen).items():
            asked = request.GET.copy()
            asked.pop("p", None)
            asked["status"] = status
            if status == PENDING:
                asked.pop("status")
            tabs.append({"name": tab.name, "url": f"?{asked.urlencode()}", "is_chosen": status == chosen})  # fmt: skip
        told = TABS[chosen].told if chosen in TABS else ""
        context = {"tabs": tabs, "told": told, **(extra_context or {})}
        page: HttpResponse = super().changelist_view(request, context)
        return page

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Say of an empty list what of it is empty."""
        return Inbox

    @admin.display(description="asked for")
    def asked(self, approval: Approval) -> SafeString:
        """How long ago it was asked for, and when exactly."""
        return format_html(
            '<strong class="liy-when">{}</strong> <span class="liy-age">{}</span>',
            age(approval.created_at, shown_now()),
            f"{approval.created_at:%Y-%m-%d %H:%M:%S}Z",
        )

    @admin.display(description="call")
    def call(self, approval: Approval) -> SafeString:
        """What is asked for, which call of the run it is, and the beginning of the digest: the same for the very same call."""
        if approval.kind in NO_CALLS:
            return format_html('<span class="liy-wrap">{}</span>', cell(asks(approval)))
        return format_html(
            '{} <span class="liy-age">call {} of step {}</span><span class="liy-age liy-mono">{}</span>',
            cell(asks(approval)), approval.index + 1, approval.step, approval.digest[:SHORT_DIGEST],
        )  # fmt: skip

    @admin.display(description="agent")
    def agent(self, approval: Approval) -> SafeString:
        """Who wants to call, and with whose rights."""
        told = f"as {cell(approval.run_as)}" if approval.run_as else "as nobody"
        return format_html(
            '{} <span class="liy-age liy-wrap">{}</span>', cell(approval.agent_key), told
        )

    @admin.display(description="mission")
    def shown_mission(self, approval: Approval) -> str:
        """The mission where somebody named one."""
        is_named = approval.mission != str(approval.correlation_id)
        return cell(approval.mission) if is_named else "-"

    @admin.display(description="run")
    def run(self, approval: Approval) -> SafeString:
        """Lead to the run, or to the routine that it is about."""
        if approval.kind == ROUTINE:
            address = reverse("admin:routines_routine_change", args=[approval.run_id])
            return format_html('<a class="liy-link" href="{}">its routine</a>', address)
        address = reverse("admin:runs_run_change", args=[approval.run_id])
        return format_html(
            '<a class="liy-link liy-mono" href="{}">{}</a>', address, approval.run_id
        )

    @admin.display(description="held because")
    def why(self, approval: Approval) -> SafeString:
        """Why a gate held it, and the beginning of what the gate said where that tells more."""
        told = pages.GATES.get(approval.gate, cell(approval.gate.replace("_", " ")))
        if approval.gate in pages.TELL_NO_MORE:
            return format_html('<span class="liy-wrap">{}</span>', told)
        return format_html(
            '<span class="liy-wrap">{} <span class="liy-age liy-wrap">{}</span></span>',
            told,
            _cut(approval.held_reason),
        )

    @admin.display(description="until")
    def until(self, approval: Approval) -> SafeString:
        """Until when it can be decided about, and whether its approval would only ask anew."""
        told = (self._changed(approval), pages.expiry_of(approval))
        return format_html("<div>{} {}</div>", *told)

    @admin.display(description="what became of it")
    def state(self, approval: Approval) -> SafeString:
        """Where it stands, who decided so or what ended it, why and when, and what was filed in its place."""
        state = format_html("{} {}", pages.state_of(approval), self._changed(approval))
        if approval.status == ApprovalStatus.PENDING:
            return format_html("<div>{} {}</div>", state, pages.expiry_of(approval))
        told, at = (
            f"by {approval.decided_by}: {approval.decision_reason}",
            when(approval.decided_at),
        )
        if approval.status == ApprovalStatus.STALE or not approval.decided_at:
            told, at = approval.settled_reason, history.settled(approval)
        return format_html(
            '<div>{} <span class="liy-age liy-wrap">{}</span> {} {}</div>',
            state, _cut(told), at, self._later(approval),
        )  # fmt: skip

    def _later(self, approval: Approval) -> SafeString:
        later = approval.replaced_by  # type: ignore[attr-defined]
        if later is None:
            return format_html("{}", "")
        address = reverse("admin:approvals_approval_change", args=[later])
        return format_html('<a class="liy-link" href="{}">asked anew</a>', address)

    def _changed(self, approval: Approval) -> SafeString:
        if not policies_changed(approval, now=approval.policies_now):  # type: ignore[attr-defined]
            return format_html("{}", "")
        return pill("policies changed: approved, it asks again", WARN)


def _cut(text: str) -> str:
    """Return the beginning of a reason, and that it is one."""
    told = cell(text)
    return told if len(told) <= LONGEST_WHY else f"{told[:LONGEST_WHY]}…"
