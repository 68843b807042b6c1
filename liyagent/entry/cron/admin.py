"""Triggers and their fires in the console. What is saved is saved by the verbs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from rest_framework.exceptions import Throttled

from liyagent.core.console import NothingToSay, action
from liyagent.core.errors import Conflict
from liyagent.core.moments import when
from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from liyagent.core.tables import cell
from liyagent.entry.cron.fires import kind_of, last_fires, slot_of
from liyagent.entry.cron.models import CronFire, CronTrigger
from liyagent.entry.cron.run_now import run_now
from liyagent.entry.cron.triggers import CHECKS, remove_trigger, save_trigger
from liyagent.entry.operated import OperatedAdmin, ShownAsArrival, saver_in

COLOURS = {"answered": GOOD, "skipped": WARN, "refused": BAD, "started": QUIET, "received": QUIET}


def came_of(fire: CronFire | None) -> SafeString:
    """Show what became of a fire: the outcome of its run, else where it stands."""
    if fire is None:
        return format_html("{}", "-")
    said = fire.outcome or fire.state
    return pill(said, COLOURS.get(said, BAD))


class TriggerForm(forms.ModelForm[CronTrigger]):
    """What is filled in, by the names that the verb knows; who starts its runs may be left out."""

    started_by = forms.CharField(
        required=False,
        max_length=150,
        help_text="Empty: yourself. Somebody else is named by who keeps users.",
    )

    class Meta:
        model = CronTrigger
        fields = ("key", *(column for column, _ in CHECKS.values()))
        help_texts = {
            "schedule": "Five fields: minute, hour, day of the month, month, day of the week.",
            "timezone": "The zone that the schedule is in, such as Europe/Berlin.",
            "catch_up": "Fire the latest slot late where all processes were down.",
            "overlap": "While the run of an earlier slot goes on, a slot is recorded and not started.",
            "is_enabled": "Off: it is paused.",
        }

    def given(self) -> dict[str, Any]:
        """Return what was filled in."""
        columns = {column: name for name, (column, _) in CHECKS.items()}
        return {columns[it]: self.cleaned_data[it] for it in self.cleaned_data if it in columns}


@admin.register(CronTrigger)
class CronTriggerAdmin(OperatedAdmin):
    """Which agents are asked what by the clock, when next, and what came of it last."""

    form = TriggerForm
    list_display = ("key", "state", "agent", "slots", "next_fire", "last_fire", "fires")
    search_fields = ("key", "agent_key")
    sortable_by = ("key",)
    words_if_empty = "There is no cron trigger yet."
    words_above = (
        "Whom the clock asks, and when. "
        "One that is stopped cannot tell its next slot: mend what its reason says and save it again. Open one to pause it, or to run it now."
    )
    actions_detail = ("run", "pause", "resume", "remove")
    fieldsets = (
        (None, {"fields": ("key", "agent_key", "task", "started_by")}),
        ("When", {"fields": ("schedule", "timezone", "is_enabled", "catch_up", "overlap")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[CronTrigger]:
        """As they stand."""
        return CronTrigger.objects.all()

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Look up the last fires of a page at once."""
        found = super().get_changelist_instance(request)
        self._note_last(list(found.result_list))
        return found

    def _note_last(self, triggers: Sequence[CronTrigger]) -> None:
        last = last_fires(triggers)
        for it in triggers:
            it.newest = last.get(it.key)  # type: ignore[attr-defined]

    def get_readonly_fields(
        self, request: HttpRequest, obj: CronTrigger | None = None
    ) -> tuple[str, ...]:
        """A key once given stays."""
        return ("key",) if obj else ()

    @admin.display(description="state")
    def state(self, trigger: CronTrigger) -> SafeString:
        """Whether it fires."""
        if trigger.problem:
            return format_html("{} {}", pill("stopped", BAD), cell(trigger.problem))
        return pill("enabled", GOOD) if trigger.is_enabled else pill("paused", WARN)

    @admin.display(description="agent")
    def agent(self, trigger: CronTrigger) -> str:
        """Who is asked."""
        return cell(trigger.agent_key)

    @admin.display(description="schedule")
    def slots(self, trigger: CronTrigger) -> SafeString:
        """When, and in which zone."""
        return format_html('<span class="liy-mono">{}</span> <span class="liy-age">{}</span>', cell(trigger.schedule), cell(trigger.timezone))  # fmt: skip

    @admin.display(description="next")
    def next_fire(self, trigger: CronTrigger) -> SafeString:
        """Its next slot."""
        return when(trigger.next_slot)

    @admin.display(description="last")
    def last_fire(self, trigger: CronTrigger) -> SafeString:
        """Its newest fire, and what came of it."""
        last: CronFire | None = trigger.newest  # type: ignore[attr-defined]
        return format_html("{} {}", came_of(last), when(last.received_at)) if last else came_of(None)  # fmt: skip

    @admin.display(description="history")
    def fires(self, trigger: CronTrigger) -> SafeString:
        """Lead to what became of its slots."""
        address = reverse("admin:cron_cronfire_changelist")
        return format_html('<a class="liy-link" href="{}?q={}">its fires</a>', address, trigger.key)

    def save_model(
        self, request: HttpRequest, obj: CronTrigger, form: TriggerForm, change: bool
    ) -> None:
        """Save through the verb."""
        obj.pk = save_trigger(obj.key, form.given(), saver=saver_in(request)).pk

    @action(description="Run now", permissions=["operate"])
    def run(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then start a run beside its slots."""
        trigger = self.row_or_404(request, object_id)
        told = ["A run of its own, started at once. Its slots stay as they are."]

        def verb() -> None:
            try:
                run_now(trigger.key, actor=request.user.get_username())
            except Throttled as error:
                raise Conflict(str(error.detail)) from error

        return self._asked(request, trigger, verb, words=("Run", "Run it now", "is run"), told=told)

    @action(description="Pause", permissions=["operate"])
    def pause(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then fire nothing of it."""
        told = ["Its slots are nobody's until it is resumed. Runs of it go on."]
        return self._switched(request, object_id, words=("Pause", "Pause it", "is paused"), told=told, to_enabled=False)  # fmt: skip

    @action(description="Resume", permissions=["operate"])
    def resume(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then fire from the next slot on."""
        told = ["It fires from its next slot on; slots of the pause are not caught up."]
        return self._switched(request, object_id, words=("Resume", "Resume it", "is resumed"), told=told, to_enabled=True)  # fmt: skip

    @action(description="Remove", permissions=["operate"])
    def remove(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then forget it."""
        trigger = self.row_or_404(request, object_id)
        actor = request.user.get_username()
        told = ["It fires no more. Runs of it go on, and stay among the runs."]
        return self.removed(
            request, trigger, lambda: remove_trigger(trigger.key, actor=actor), told=told
        )

    def _switched(
        self,
        request: HttpRequest,
        object_id: str,
        *,
        words: tuple[str, str, str],
        told: list[str],
        to_enabled: bool,
    ) -> HttpResponse:
        trigger = self.row_or_404(request, object_id)
        given, saver = {"is_enabled": to_enabled}, saver_in(request)
        verb = lambda: save_trigger(trigger.key, given, saver=saver)  # noqa: E731
        return self._asked(request, trigger, verb, words=words, told=told)

    def _asked(
        self,
        request: HttpRequest,
        trigger: CronTrigger,
        verb: Any,
        *,
        words: tuple[str, str, str],
        told: list[str],
    ) -> HttpResponse:
        """Ask by GET, carry out by POST."""
        title, button, done = words
        if request.method == "POST":
            self.carry_out(request, verb, done=f"{trigger} {done}.")
            return HttpResponseRedirect(self.list_address())
        return self.confirm(
            request, title=f"{title} {trigger}", told=told, button=button, form=NothingToSay(),
            extra={"cancel": self.page_address(trigger)},
        )  # fmt: skip


@admin.register(CronFire)
class CronFireAdmin(ShownAsArrival):
    """What became of each slot, without any words: those are the run's."""

    list_display = ("trigger", "slot", "came_of_it", "run", "why", "received")
    search_fields = ("source__exact",)
    words_if_empty = "No slot has come yet."

    def get_queryset(self, request: HttpRequest) -> QuerySet[CronFire]:
        """Those of cron alone, newest first."""
        rows: QuerySet[CronFire] = CronFire.objects.order_by("-received_at", "-run_id")
        return rows

    @admin.display(description="trigger")
    def trigger(self, fire: CronFire) -> str:
        """Whose slot."""
        return cell(fire.source)

    @admin.display(description="slot")
    def slot(self, fire: CronFire) -> str:
        """Its instant in UTC, or what it is instead."""
        return cell(slot_of(fire) or kind_of(fire))

    @admin.display(description="what came of it")
    def came_of_it(self, fire: CronFire) -> SafeString:
        """Its outcome, or where it stands."""
        return came_of(fire)

    @admin.display(description="run")
    def run(self, fire: CronFire) -> SafeString:
        """Lead to the run, where there is one."""
        if fire.started_at is None:
            return format_html("{}", "-")
        address = reverse("admin:runs_run_change", args=[fire.run_id])
        return format_html('<a class="liy-link liy-mono" href="{}">{}</a>', address, fire.run_id)

    @admin.display(description="why")
    def why(self, fire: CronFire) -> SafeString:
        """Why nothing was started."""
        return format_html('<span class="liy-wrap">{}</span>', cell(fire.reason))

    @admin.display(description="recorded")
    def received(self, fire: CronFire) -> SafeString:
        """When it was fired or skipped."""
        return when(fire.received_at)
