"""Triggers and what they let in, in the console. What is saved is saved by the verbs."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from liyagent.core.console import action
from liyagent.core.errors import LiyagentError
from liyagent.core.forms import PlainJSONField
from liyagent.core.moments import when
from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from liyagent.core.tables import cell, visible
from liyagent.entry.models import ArrivalState
from liyagent.entry.operated import OperatedAdmin, ShownAsArrival, saver_in
from liyagent.entry.webhooks.fields import CHECKS
from liyagent.entry.webhooks.mapping import Fitted
from liyagent.entry.webhooks.models import Kind, Trigger, TriggerArrival
from liyagent.entry.webhooks.triggers import remove_trigger, save_trigger, try_trigger

STATES = {ArrivalState.ENDED: GOOD, ArrivalState.REFUSED: BAD, ArrivalState.SKIPPED: QUIET}


class TriggerForm(forms.ModelForm[Trigger]):
    """Who starts its runs may be left out; the sample too, where nothing changed of what looks at payloads."""

    secret_envs = forms.CharField(
        max_length=500,
        label="secrets in",
        widget=UnfoldAdminTextInputWidget(),
        help_text="Names of environment variables, newest first, with spaces between.",
    )
    started_by = forms.CharField(
        required=False,
        max_length=150,
        widget=UnfoldAdminTextInputWidget(),
        help_text="Empty: yourself. Somebody else is named by who keeps users.",
    )
    sample = PlainJSONField(
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 8}),
        help_text="A payload to try it with before it is saved; it is not kept.",
    )

    class Meta:
        model = Trigger
        fields = ("key", *(column for column, _, _ in CHECKS.values()), "task", "mission")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Show names as a text."""
        super().__init__(*args, **kwargs)
        self.initial["secret_envs"] = " ".join(self.instance.secret_envs)

    def clean_secret_envs(self) -> list[str]:
        """Return the names."""
        names: str = self.cleaned_data["secret_envs"]
        return names.split()

    def given(self) -> dict[str, Any]:
        """Return what was filled in, by the names that the verb knows."""
        columns = {column: name for name, (column, _, _) in CHECKS.items()}
        data = self.cleaned_data
        given = {columns[it]: data[it] for it in data if it in columns}
        if data.get("sample") is not None:
            given["sample"] = data["sample"]
        return {**given, "mapping": {"task": data["task"], "mission": data["mission"]}}


class TryForm(forms.Form):
    """A payload to try."""

    payload = PlainJSONField(widget=UnfoldAdminTextareaWidget(attrs={"rows": 16}))


@admin.register(Trigger)
class TriggerAdmin(OperatedAdmin):
    """Whose calls start which agents."""

    form = TriggerForm
    list_display = ("key", "state", "agent", "started", "misfit", "saved", "arrivals")
    search_fields = ("key", "agent_key")
    sortable_by = ("key",)
    words_if_empty = "There is no webhook trigger yet."
    words_above = (
        "Whose signed calls start which agent. "
        "What did not fit a mapping was not kept: mend the mapping, try it with a payload, and have the sender send it again."
    )
    actions_detail = ("try_payload", "remove")
    fieldsets = (
        (None, {"fields": ("key", "kind", "agent_key", "started_by", "most_a_minute", "is_enabled")}),
        ("Its signature", {"fields": ("scheme", "secret_envs", "signature_header", "signature_prefix")}),
        ("What it asks", {"fields": ("task", "mission", "filter", "delivery_id", "sample")}),
    )  # fmt: skip

    def get_readonly_fields(
        self, request: HttpRequest, obj: Trigger | None = None
    ) -> tuple[str, ...]:
        """What arrivals are known by stays."""
        return ("key", "kind") if obj else ()

    @admin.display(description="state")
    def state(self, trigger: Trigger) -> SafeString:
        """Whether it lets calls in."""
        return pill("enabled", GOOD) if trigger.is_enabled else pill("disabled", WARN)

    @admin.display(description="agent")
    def agent(self, trigger: Trigger) -> str:
        """Whom it asks."""
        return cell(trigger.agent_key)

    @admin.display(description="runs started by")
    def started(self, trigger: Trigger) -> str:
        """Whose runs they are."""
        return cell(trigger.started_by)

    @admin.display(description="last that did not fit")
    def misfit(self, trigger: Trigger) -> SafeString:
        """When a payload did not fit, and why."""
        if trigger.misfit_at is None:
            return format_html("{}", "-")
        why = cell(trigger.misfit_why)
        return format_html('{} <span class="liy-wrap">{}</span>', when(trigger.misfit_at), why)

    @admin.display(description="saved")
    def saved(self, trigger: Trigger) -> SafeString:
        """When, and by whom."""
        return format_html("{} by {}", when(trigger.updated_at), cell(trigger.saved_by))

    @admin.display(description="arrivals")
    def arrivals(self, trigger: Trigger) -> SafeString:
        """Lead to what it let in."""
        address = reverse("admin:webhooks_triggerarrival_changelist")
        return format_html('<a class="liy-link" href="{}?q={}">its calls</a>', address, trigger.key)

    def save_model(
        self, request: HttpRequest, obj: Trigger, form: TriggerForm, change: bool
    ) -> None:
        """Save through the verb."""
        obj.pk = save_trigger(obj.key, form.given(), saver=saver_in(request)).pk

    @action(description="Try a payload", permissions=["operate"], url_path="try")
    def try_payload(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show what a payload would start; nothing is kept."""
        trigger = self.row_or_404(request, object_id)
        form = TryForm(request.POST or None)
        told = ["Nothing is started, and nothing of it is kept."]
        if form.is_valid():
            told = _tried(trigger, form.cleaned_data["payload"])
        return self.confirm(
            request,
            title=f"Try a payload with {trigger}",
            told=told,
            button="Try it",
            form=form,
            extra={"cancel": self.page_address(trigger), "is_harmless": True},
        )

    @action(description="Remove", permissions=["operate"])
    def remove(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then forget it."""
        trigger = self.row_or_404(request, object_id)
        told = ["Its calls are refused from then on; what it let in goes on."]
        actor = request.user.get_username()
        return self.removed(
            request, trigger, lambda: remove_trigger(trigger.key, actor=actor), told=told
        )


@admin.register(TriggerArrival)
class TriggerArrivalAdmin(ShownAsArrival):
    """What triggers let in, without any words: those are the run's."""

    list_display = ("received", "trigger", "delivery", "state_told", "why", "run")
    search_fields = ("source__exact",)
    search_help_text = "The key of a trigger, as a whole."
    words_if_empty = "Nothing was let in yet."

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Newest first, by what has an index: of one trigger another than of all."""
        return ("-received_at",) if request.GET.get("q") else ("-run_id",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[TriggerArrival], search_term: str
    ) -> tuple[QuerySet[TriggerArrival], bool]:
        """Those of a trigger, by its key and its way."""
        if not search_term:
            return queryset, False
        kinds = Trigger.objects.filter(key=search_term).values_list("kind", flat=True)
        return queryset.filter(way=kinds.first() or "", source=search_term), False

    def get_queryset(self, request: HttpRequest) -> QuerySet[TriggerArrival]:
        """Of these two ways."""
        rows: QuerySet[TriggerArrival] = super().get_queryset(request)
        return rows.filter(way__in=Kind.values).defer("sealed")

    @admin.display(description="received")
    def received(self, arrival: TriggerArrival) -> SafeString:
        """When it came."""
        return when(arrival.received_at)

    @admin.display(description="trigger")
    def trigger(self, arrival: TriggerArrival) -> str:
        """Which let it in."""
        return cell(arrival.source)

    @admin.display(description="delivery")
    def delivery(self, arrival: TriggerArrival) -> SafeString:
        """What names it at its sender."""
        return format_html('<span class="liy-wrap">{}</span>', cell(arrival.delivery_id))

    @admin.display(description="state")
    def state_told(self, arrival: TriggerArrival) -> SafeString:
        """Where it stands, and how its run ended."""
        state = ArrivalState(arrival.state)
        return pill(arrival.outcome or state.value, STATES.get(state, WARN))

    @admin.display(description="why")
    def why(self, arrival: TriggerArrival) -> str:
        """Why nothing was started."""
        return cell(arrival.reason)

    @admin.display(description="run")
    def run(self, arrival: TriggerArrival) -> SafeString:
        """Lead to the run, where there is one."""
        if arrival.state not in {ArrivalState.STARTED, ArrivalState.ENDED}:
            return format_html("{}", "-")
        address = reverse("admin:runs_run_change", args=[arrival.run_id])
        return format_html('<a class="liy-link liy-mono" href="{}">{}</a>', address, arrival.run_id)


def _tried(trigger: Trigger, payload: Any) -> list[str]:
    try:
        found: Fitted = try_trigger(trigger.key, {}, payload)
    except LiyagentError as error:
        return [visible(f"It does not fit. {error}")]
    if not found.is_wanted:
        return ["It would be ignored: the filter does not hold of it."]
    delivery = json.dumps(found.delivery_id, ensure_ascii=False) if found.delivery_id else "its webhook-id"  # fmt: skip
    return [
        visible(f"Delivery: {delivery}. Mission: {found.mission or 'none'}."),
        visible(f"Task: {found.task}"),
    ]
