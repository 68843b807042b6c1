"""The outbox in the console: what is owed to whom and how it stands; dead letters, to send again or to close."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.views import ChangeList
from unfold.widgets import UnfoldBooleanSwitchWidget

from liyagent.access.permissions import OPERATE
from liyagent.core.console import NothingToSay, ReasonForm, action
from liyagent.core.errors import BadInput
from liyagent.core.moments import when
from liyagent.core.tables import cell
from liyagent.entry import pages
from liyagent.entry.close import close_delivery
from liyagent.entry.filters import ByAgent, ByDeliveryState, ByWay, asked_of, narrowed
from liyagent.entry.listing import DELIVERY_ORDER, Led, deliveries_led
from liyagent.entry.models import Delivery, DeliveryState
from liyagent.entry.operated import SeenWithRuns
from liyagent.entry.send_again import send_again, why_not
from liyagent.entry.serializers import arrivals_of
from runs.doubts_admin import as_uuid

LONGEST_ERROR = 90


class AppearTwiceForm(forms.Form):
    """What a person takes on who sends again what may have arrived."""

    may_appear_twice = forms.BooleanField(
        label="It may appear twice at the other end",
        widget=UnfoldBooleanSwitchWidget(),
        help_text="I have looked there, or take it on: nobody can tell whether the first one arrived.",
    )


class ListedAdmin(SeenWithRuns):
    """A list that is narrowed by what an index leads to, and pages of its rows that change nothing."""

    def has_operate_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may operate."""
        return request.user.has_perm(OPERATE)

    def found_row(self, request: HttpRequest, object_id: str) -> Any:
        """Return the row of a page, None where there is none. Raises `PermissionDenied`."""
        row = self.get_object(request, object_id)
        if request.method not in {"GET", "HEAD"} or not self.has_view_permission(request, row):
            raise PermissionDenied
        return row


class DeliveryList(ChangeList):  # type: ignore[misc]
    """A page of deliveries, each with the `arrival` it is owed for: one statement more."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        """As the theme's, with what came in."""
        super().get_results(request)
        self.result_list = list(self.result_list)
        arrivals = arrivals_of(self.result_list)
        for delivery in self.result_list:
            delivery.arrival = arrivals.get(delivery.run_id)


@admin.register(Delivery)
class DeliveryAdmin(ListedAdmin):
    """The outbox, newest first."""

    list_display = ("number_told", "state_told", "what", "agent", "error", "since", "run")
    list_filter = (ByDeliveryState, ByWay, ByAgent)
    search_fields = ("run_id",)
    search_help_text = "A run's id, or a source in full"
    ordering = DELIVERY_ORDER
    words_if_empty = "Nothing is owed to anybody yet."
    words_if_not_found = (
        "What was handed on is forgotten after some days, what was given up after a month."
    )
    list_before_template = "admin/entry/delivery/about.html"
    actions_detail = ("send_again", "close")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """A list that knows what came in."""
        return DeliveryList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Look by what an index leads to alone; the rest is compared among the newest of it."""
        asked = dict(asked_of(request, ("way", "state", "agent")))
        term = search_term.strip()
        if term:
            asked["run" if as_uuid(term) else "source"] = term
        return narrowed_by(queryset, lambda: deliveries_led(asked), DELIVERY_ORDER), False

    @admin.display(description="no.")
    def number_told(self, delivery: Delivery) -> str:
        """Its number, as the shell and the API name it."""
        return str(delivery.id)

    @admin.display(description="state")
    def state_told(self, delivery: Delivery) -> SafeString:
        """How it stands."""
        return pages.delivery_state(delivery)

    @admin.display(description="what is owed")
    def what(self, delivery: Any) -> SafeString:
        """What it is, by which way, for what came in."""
        source = f"{delivery.way}, {delivery.arrival.source}" if delivery.arrival else delivery.way
        return format_html('{} <span class="liy-age">{}</span>', cell(delivery.kind), cell(source))

    @admin.display(description="agent")
    def agent(self, delivery: Any) -> str:
        """Whose answer it is."""
        return cell(delivery.arrival.agent_key if delivery.arrival else "")

    @admin.display(description="last error")
    def error(self, delivery: Delivery) -> SafeString:
        """Why it did not arrive, of one that was closed why that, and how often it was tried."""
        tried = f"{delivery.attempts} attempt{'' if delivery.attempts == 1 else 's'}"
        told = short(delivery.closed_why or delivery.last_error)
        return format_html('{} <span class="liy-age">{}</span>', told, tried)

    @admin.display(description="owed since")
    def since(self, delivery: Delivery) -> SafeString:
        """When it was filed."""
        return when(delivery.created_at)

    @admin.display(description="run")
    def run(self, delivery: Delivery) -> SafeString:
        """Lead to its run."""
        address = reverse("admin:runs_run_change", args=[delivery.run_id])
        return format_html(
            '<a class="liy-link liy-mono" href="{}">{}</a>', address, delivery.run_id
        )

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show a delivery, and what a person can do about it; nothing is changed by it."""
        delivery: Delivery | None = self.found_row(request, object_id)
        if delivery is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        arrival = arrivals_of([delivery]).get(delivery.run_id)
        state = DeliveryState(delivery.state)
        offers = self.has_operate_permission(request) and not why_not(delivery)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Delivery {delivery.id}",
            "delivery": delivery,
            "arrival": arrival,
            "state": pages.delivery_state(delivery),
            "told": pages.DELIVERY_WORDS[state],
            "kind": pages.KINDS.get(delivery.kind, ""),
            "receiver": pages.receiver_of(delivery),
            "is_given_up": state in {DeliveryState.DEAD, DeliveryState.UNCONFIRMED},
            "is_open": state == DeliveryState.PENDING,
            "moments": [
                ("Filed", when(delivery.created_at)),
                ("Over since", when(delivery.settled_at)),
            ],
            "next": when(delivery.next_at),
            "give_up": when(delivery.give_up_at),
            "offers": offers,
            "may_not": state in {DeliveryState.DEAD, DeliveryState.UNCONFIRMED} and not offers,
            "links": {
                **links_of(request, delivery.run_id),
                "send_again": reverse("admin:entry_delivery_send_again", args=[delivery.pk]),
                "close": reverse("admin:entry_delivery_close", args=[delivery.pk]),
                "arrival": reverse("admin:entry_arrival_change", args=[delivery.run_id]),
                "others": f"{self.list_address()}?q={delivery.run_id}",
            },
        }
        return TemplateResponse(request, "admin/entry/delivery/page.html", context)

    @action(description="Send again", permissions=["operate"], url_path="send-again")
    def send_again(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then have it sent again; of one that may have arrived a confirmation is wanted."""
        delivery: Delivery = self.row_or_404(request, object_id)
        is_unconfirmed = delivery.state == DeliveryState.UNCONFIRMED
        kind = AppearTwiceForm if is_unconfirmed else NothingToSay
        form = kind(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            self.carry_out(
                request,
                lambda: send_again(
                    delivery_id=delivery.pk,
                    actor=request.user.get_username(),
                    may_appear_twice=form.cleaned_data.get("may_appear_twice", False),
                ),
                done=f"Delivery {delivery.pk} is due now; processes try to send it for a day.",
            )
            return HttpResponseRedirect(self.page_address(delivery))
        told = [
            f"It goes to {pages.receiver_of(delivery)}, with the same words.",
            f"Last error: {cell(delivery.last_error)}. What it says wants mending first, else it is given up again.",
        ]
        if is_unconfirmed:
            told.append(
                "It was sent once, and nobody can tell whether it arrived. Sent again it may appear twice."
            )
        refusal = why_not(delivery)
        if refusal:
            told = [f"It cannot be sent again: {refusal}."]
        return self.confirm(
            request, title=f"Send delivery {delivery.pk} again", told=told, button="Send it again", form=form,
            extra={"cancel": self.page_address(delivery), "is_harmless": not is_unconfirmed},
        )  # fmt: skip

    @action(description="Close", permissions=["operate"], url_path="close")
    def close(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask why, then close it for good."""
        delivery: Delivery = self.row_or_404(request, object_id)
        form = ReasonForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            self.carry_out(
                request,
                lambda: close_delivery(
                    delivery_id=delivery.pk,
                    actor=request.user.get_username(),
                    reason=form.cleaned_data["reason"],
                ),
                done=f"Delivery {delivery.pk} is closed.",
            )
            return HttpResponseRedirect(self.page_address(delivery))
        refusal = why_not(delivery)
        told = [
            f"It cannot be closed: {refusal}."
            if refusal
            else f"It is not sent any more, by anybody: {pages.receiver_of(delivery)} does not get it from here."
        ]
        return self.confirm(
            request, title=f"Close delivery {delivery.pk}", told=told, button="Close it", form=form,
            extra={"cancel": self.page_address(delivery)},
        )  # fmt: skip


def narrowed_by(queryset: QuerySet[Any], led: Any, order: tuple[str, ...]) -> QuerySet[Any]:
    """Narrow a list; what is none of the choices finds nothing."""
    try:
        found: Led = led()
    except BadInput:
        return queryset.none()
    return narrowed(queryset, found, order)


def short(text: str) -> SafeString:
    """Return the beginning of a reason."""
    told = text if len(text) <= LONGEST_ERROR else f"{text[:LONGEST_ERROR]}…"
    return format_html('<span class="liy-wrap">{}</span>', cell(told))


def owed_row(delivery: Delivery) -> dict[str, Any]:
    """Return a delivery as the page of what came in shows it."""
    return {
        "id": delivery.pk,
        "url": reverse("admin:entry_delivery_change", args=[delivery.pk]),
        "kind": delivery.kind,
        "words": pages.KINDS.get(delivery.kind, ""),
        "receiver": pages.receiver_of(delivery),
        "state": pages.delivery_state(delivery),
        "error": delivery.closed_why or delivery.last_error,
        "attempts": delivery.attempts,
        "settled": when(delivery.settled_at),
    }


def links_of(request: HttpRequest, run_id: Any) -> dict[str, str]:
    """Return where the pages lead, as far as the user may follow."""
    found = {"run": reverse("admin:runs_run_change", args=[run_id])}
    if request.user.has_perm("audit.view_auditrow"):
        found["audit"] = f"{reverse('admin:audit_auditrow_changelist')}?q={run_id}"
    return found
