"""Confidential concerns in the console: opened and closed by people with the right, on pages of their own."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextInputWidget

from liyagent.audit.concerns import (
    LONGEST_ACTOR,
    LONGEST_REFERENCE,
    close_concern,
    open_concern,
)
from liyagent.audit.models import Concern
from liyagent.core.console import NothingToSay, action
from liyagent.core.moments import when
from liyagent.core.pills import GOOD, WARN, pill
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell

HANDLE = "audit.handle_concern"
LONGEST_MISSION = 128
OPENING = (
    "While it is open, audit rows of the person or the mission that it is about bear no mission, request id or address, and "
    "neither do those of runs that are started meanwhile, also later. Who did what stays in the log, and so does that you "
    "opened this. What it is about is shown to those who may see concerns."
)
CLOSING = (
    "What is written from now on bears its stamps again; what was written without stays as it is."
)


class ConcernForm(forms.Form):
    """What a concern is about."""

    actor = forms.CharField(
        max_length=LONGEST_ACTOR,
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text="A user's name. Nobody and no mission: yourself.",
    )
    mission = forms.CharField(
        max_length=LONGEST_MISSION,
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text="Instead of a person.",
    )
    reference = forms.CharField(
        max_length=LONGEST_REFERENCE,
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text="Where its words are kept, such as a case number. No words of it here.",
    )


class ByState(admin.SimpleListFilter):
    """Chooses those that are open, or closed."""

    title = parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return both."""
        return [("open", "open"), ("closed", "closed")]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Return the chosen ones."""
        is_open = {"open": True, "closed": False}.get(self.value() or "")
        return queryset if is_open is None else queryset.filter(closed_at__isnull=is_open)


class ConcernAdmin(ReadOnlyAdmin):
    """Newest first."""

    list_display = ("number", "state", "shown_subject", "shown_reference", "opened", "closed")
    list_filter = (ByState,)
    sortable_by = ()
    ordering = ("-id",)
    words_if_empty = "No concern was opened yet."
    words_above = (
        "Where something is looked into in confidence: while one is open, audit rows of the person or the mission that it is about "
        "bear no mission, request id or address, so that they do not lead to who asked for what. Who did what stays in the log."
    )
    fields = ("state", "shown_subject", "shown_reference", "opened", "closed")
    actions_list = ("open_one",)
    actions_detail = ("close_one",)

    def has_handle_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may open and close them."""
        return request.user.has_perm(HANDLE)

    @admin.display(description="concern")
    def number(self, concern: Concern) -> str:
        """Its number."""
        return str(concern.pk)

    @admin.display(description="state")
    def state(self, concern: Concern) -> SafeString:
        """Whether rows are written without their stamps for it."""
        return pill("open", WARN) if concern.closed_at is None else pill("closed", GOOD)

    @admin.display(description="about")
    def shown_subject(self, concern: Concern) -> SafeString:
        """Whose rows, or which mission's."""
        about = concern.get_about_display()
        return format_html('{} <span class="liy-age">{}</span>', cell(concern.subject), about)

    @admin.display(description="reference")
    def shown_reference(self, concern: Concern) -> str:
        """Where its words are kept."""
        return cell(concern.reference)

    @admin.display(description="opened")
    def opened(self, concern: Concern) -> SafeString:
        """By whom and when."""
        return format_html("<div>{} {}</div>", cell(concern.opened_by), when(concern.opened_at))

    @admin.display(description="closed")
    def closed(self, concern: Concern) -> SafeString:
        """By whom and when."""
        if concern.closed_at is None:
            return format_html("{}", "-")
        return format_html("<div>{} {}</div>", cell(concern.closed_by), when(concern.closed_at))

    @action(description="Open a concern", permissions=["handle"], url_path="open")
    def open_one(self, request: HttpRequest) -> HttpResponse:
        """Ask what it is about, then open it."""
        form = ConcernForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            given, actor = form.cleaned_data, request.user.get_username()
            done = "The concern is open."
            if self.carry_out(request, lambda: open_concern(opened_by=actor, **given), done=done):
                return HttpResponseRedirect(self.list_address())
        return self.confirm(
            request,
            title="Open a confidential concern",
            told=[OPENING],
            button="Open the concern",
            form=form,
        )

    @action(description="Close", permissions=["handle"])
    def close_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then close it."""
        concern: Concern = self.row_or_404(request, object_id)
        if request.method == "POST":
            actor = request.user.get_username()
            self.carry_out(
                request,
                lambda: close_concern(concern.pk, closed_by=actor),
                done=f"{concern} is closed.",
            )
            return HttpResponseRedirect(self.list_address())
        return self.confirm(
            request,
            title=f"Close concern {concern.pk}",
            told=[CLOSING],
            button="Close the concern",
            form=NothingToSay(),
        )
