"""Writes in doubt in the console: what is known of each, what to do, and a person's word on it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.views import ChangeList
from unfold.widgets import UnfoldAdminTextareaWidget

from liyagent.access.permissions import DECIDE, READ_WORDS, VIEW_APPROVAL
from liyagent.core.console import ReasonForm, action
from liyagent.core.errors import BadInput, LiyagentError
from liyagent.core.moments import age, shown_now, span, when
from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell
from liyagent.leases.models import Holder
from runs.decisions import NOT_SENT, decision_told, fate_told, requests_of, settlement_told
from runs.doubts import Doubt, arguments_of, doubt_of
from runs.filters import ByDoubt, newest_calls
from runs.models import Call, Run
from runs.run_page import place_of
from runs.settle_by_person import (
    Said,
    has_reader,
    it_did_not,
    it_happened,
    look_again,
    result_given,
)
from runs.shown_words import shown_words
from runs.wording import FINDINGS, INTENTS, SETTLEMENTS, in_words

FATES = {"done": GOOD, "failed": WARN, "refused": WARN, "held": WARN, "unknown": BAD}
SETTLE = "runs.settle_call"
HEADS = ("Call", "Marked", "Step key", "What is known")
IN_DOUBT = (None, ByDoubt.UNKNOWN, ByDoubt.UNSETTLED)
LOOK_FIRST = "Look at the vendor first: for a record made about the time of the mark, and for the step key where it keeps one (no such key there proves nothing). Your word is final."


class WordForm(ReasonForm):
    """What was looked at, and seen."""

    def clean_reason(self) -> str:
        """Return it on one line, as it is kept."""
        return " ".join(str(self.cleaned_data["reason"]).split())


class HappenedForm(WordForm):
    """Why, and what the call returned."""

    result = forms.CharField(
        required=False,
        strip=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4}),
        help_text="What it returned, as JSON or in plain words, such as the number of the ticket; empty where nobody knows.",
    )

    def clean_result(self) -> Any:
        """Return the result: what is no JSON is words."""
        try:
            return result_given(self.cleaned_data["result"])
        except BadInput as error:
            raise forms.ValidationError(error.detail) from error


class CallList(ChangeList):  # type: ignore[misc]
    """A page of marked calls, each with its `request`: one statement more, and none where no person was asked."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        """As the theme's, with what people were asked."""
        super().get_results(request)
        self.result_list = list(self.result_list)
        requests = requests_of(call.approval_id for call in self.result_list)
        for call in self.result_list:
            call.request = requests.get(call.approval_id)


@admin.register(Call)
class CallAdmin(ReadOnlyAdmin):
    """Marked writes; where nothing is chosen those in doubt, the oldest first."""

    list_display = ("run_link", "listed_call", "state", "known", "marked")
    list_display_links = ("listed_call",)
    list_filter = (ByDoubt, "intent")
    search_fields = ("run_id",)
    search_help_text = "A run's id, or a step key (of the newest 20,000 marked writes), in full"
    sortable_by = ()
    list_before_template = "admin/runs/call/about.html"
    change_form_before_template = "admin/runs/call/doubt.html"
    actions_detail = ("happened", "did_not", "look_again")
    words_if_empty = "No write is in doubt."
    words_if_not_found = (
        "Here are the writes in doubt; search for a run's id to see those of a run."
    )
    fieldsets = (
        (None, {"fields": ("run_link", "call", "state", "said_by", "read_back", "looked_again", "key")}),
        ("Times", {"fields": ("marked", "could_be_sent_until", "settled")}),
        (
            "How it was marked",
            {"fields": ("stood_for", "approval", "attempt_shown", "carried_by", "has_key", "deduped", "model_id", "digest")},
        ),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave the sealed bytes in the database; bring along where each run stands."""
        rows: QuerySet[Any] = super().get_queryset(request)
        status = Run.objects.filter(id=OuterRef("run_id")).values("status")
        shown: QuerySet[Any] = rows.defer("sealed", "outcome").annotate(run_status=Subquery(status))
        return shown

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """A list that knows what people were asked about the calls of a page."""
        return CallList

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Show what is in doubt from the oldest mark on, anything else from the newest."""
        is_in_doubt = request.GET.get(ByDoubt.parameter_name) in IN_DOUBT
        return ("marked_at", "id") if is_in_doubt else ("-id",)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """None above the page: its own card has them beside what is known."""
        return []

    def has_settle_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A person's word needs what the API wants for it."""
        return request.user.has_perm(SETTLE)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show a call with what is known, what to do, and the ways to say it."""
        call = self.get_object(request, object_id)
        context = self._told(request, doubt_of(call.pk)) if call is not None else {}
        shown: HttpResponse = super().change_view(
            request, object_id, form_url, {**context, **(extra_context or {})}
        )
        return shown

    def _told(self, request: HttpRequest, doubt: Doubt) -> dict[str, Any]:
        # Whoever says what happened has to see what was sent.
        with_words = request.user.has_perm(READ_WORDS) or request.user.has_perm(SETTLE)
        args, missing = arguments_of(doubt) if with_words else (None, "")
        names = ("happened", "did_not", "look_again")
        links = {it: reverse(f"admin:runs_call_{it}", args=[doubt.call.pk]) for it in names}
        return {
            "doubt": doubt,
            "with_words": with_words,
            "args_shown": shown_words(args) if args is not None else "",
            "args_missing": missing,
            "may_settle": self.has_settle_permission(request) and doubt.call.fate == "unknown",
            "has_reader": has_reader(doubt.call),
            "sees_requests": sees_requests(request.user),
            "links": links,
        }

    @action(description="It happened", permissions=["settle"])
    def happened(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask why, and what it returned; then settle it as done."""
        call = self.row_or_404(request, object_id)
        form = HappenedForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            actor, given = request.user.get_username(), form.cleaned_data
            return self._say(
                request,
                call,
                lambda: it_happened(
                    call_id=call.pk, result=given["result"], actor=actor, reason=given["reason"]
                ),
                done="It happened: nothing is sent, and nobody has to look for it again.",
            )
        told = [
            LOOK_FIRST,
            "The call counts as done. A run that waits because of it is told so; its request is withdrawn.",
        ]
        return self._ask(request, call, form, "It happened", told)

    @action(description="It did not happen", permissions=["settle"])
    def did_not(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask why; then settle it as failed."""
        call = self.row_or_404(request, object_id)
        form = WordForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            actor, reason = request.user.get_username(), form.cleaned_data["reason"]
            return self._say(
                request,
                call,
                lambda: it_did_not(call_id=call.pk, actor=actor, reason=reason),
                done="It did not happen: nothing is sent by that alone.",
            )
        told = [
            LOOK_FIRST,
            "That no record is there proves little where a vendor is slow: wait a minute and look once more. The same call may be"
            " made again after this; a request that waits because of it still wants its decision.",
        ]
        return self._ask(request, call, form, "It did not happen", told)

    @action(description="Look again", permissions=["settle"])
    def look_again(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask why; then have the vendor asked once more."""
        call = self.row_or_404(request, object_id)
        form = WordForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            actor, reason = request.user.get_username(), form.cleaned_data["reason"]
            self.carry_out(
                request,
                lambda: look_again(call_id=call.pk, actor=actor, reason=reason),
                done="The vendor is asked within some seconds; load this page again then.",
            )
            return HttpResponseRedirect(self.page_address(call))
        told = ["The vendor is asked by the tool's reader for the step key. Nothing is sent again."]
        return self._ask(request, call, form, "Look again", told)

    def _ask(
        self, request: HttpRequest, call: Call, form: forms.Form, button: str, told: list[str]
    ) -> HttpResponse:
        row = (cell(f"{call.server}/{call.tool}"), when(call.marked_at), call.step_key, doubt_of(call.pk).known)  # fmt: skip
        return self.confirm(
            request, title=f"{button}: {cell(call.server)}/{cell(call.tool)}", told=told, button=button, form=form, rows=[row],
            extra={"heads": HEADS, "cancel": self.page_address(call)},
        )  # fmt: skip

    def _say(self, request: HttpRequest, call: Call, verb: Any, *, done: str) -> HttpResponse:
        """Settle it, and lead to what still waits because of it."""
        try:
            said: Said = verb()
        except LiyagentError as error:
            self.message_user(request, str(error), messages.ERROR)
        else:
            self.message_user(request, done, messages.SUCCESS)
            for approval in said.waiting:
                told = f"Request {approval} waits because of it: decide about it now."
                self.message_user(request, told, messages.WARNING)
        return HttpResponseRedirect(self.page_address(call))

    @admin.display(description="call")
    def listed_call(self, call: Call) -> SafeString:
        """Server and tool, where in the run, and the key to look for at the vendor."""
        return format_html(
            '{} <span class="liy-mono liy-wrap">{}</span>', self.call(call), call.step_key
        )

    @admin.display(description="what is known")
    def known(self, call: Any) -> SafeString:
        """One line, and what to do."""
        run = Run(id=call.run_id, status=call.run_status) if call.run_status else None
        doubt = Doubt(call=call, run=run, request=call.request)
        return format_html(
            "{} <strong>{}</strong>",
            cell(doubt.known),
            cell(doubt.to_do) if doubt.to_do else "",
        )

    @admin.display(description="a person said")
    def said_by(self, call: Call) -> SafeString:
        """Who said what happened, and why."""
        if not call.settled_by:
            return format_html("{}", "nothing so far")
        return format_html(
            '{}: <span class="liy-wrap">{}</span>', cell(call.settled_by), cell(call.settled_reason)
        )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Look by what an index leads to, or in the newest calls."""
        term = search_term.strip()
        if not term:
            return queryset, False
        run_id = as_uuid(term)
        found = Q(run_id=run_id) if run_id else Q(step_key=term) & newest_calls()
        return queryset.filter(found), False

    @admin.display(description="marked")
    def marked(self, call: Call) -> SafeString:
        """When it was first marked."""
        return when(call.marked_at)

    @admin.display(description="what became of it")
    def state(self, call: Call) -> SafeString:
        """Its fate in words."""
        fate = fate_told(fate=call.fate, intent=call.intent)
        if not fate:
            return pill("not settled yet", WARN)
        if call.fate == "unknown" and call.late_finding == "found":
            return pill("unknown, found later", GOOD)
        return pill(fate, FATES.get(fate, QUIET))

    @admin.display(description="call")
    def call(self, call: Call) -> SafeString:
        """Server and tool, and where in the run."""
        return format_html(
            '{} <span class="liy-age">call {} of step {}{}</span>', cell(f"{call.server}/{call.tool}"), call.index + 1,
            call.step, ", not sent" if call.intent == "held" else "",
        )  # fmt: skip

    @admin.display(description="settled how")
    def read_back(self, call: Call) -> SafeString:
        """How it came to its fate, in words."""
        fate = fate_told(fate=call.fate, intent=call.intent)
        settlement = settlement_told(fate=fate, settlement=call.settlement)
        words = in_words(SETTLEMENTS, settlement) or ("it was not sent" if fate in NOT_SENT else "")
        return format_html('<span class="liy-wrap">{}</span>', cell(words))

    @admin.display(description="looked at again")
    def looked_again(self, call: Call) -> SafeString:
        """What the late look found, or when it is due."""
        if call.late_finding:
            return pill(
                in_words(FINDINGS, call.late_finding), GOOD if call.late_finding == "found" else BAD
            )
        return (
            format_html("due {}", age(call.late_look_at, shown_now()))
            if call.late_look_at
            else format_html("{}", "-")
        )

    @admin.display(description="run")
    def run_link(self, call: Call) -> SafeString:
        """Lead to it on its run's page."""
        address = reverse("admin:runs_run_change", args=[call.run_id]) + place_of(call)
        return format_html('<a class="liy-link liy-mono" href="{}">{}</a>', address, call.run_id)

    @admin.display(description="step key")
    def key(self, call: Call) -> SafeString:
        """The key to look for at the vendor, in full."""
        return format_html('<span class="liy-mono liy-wrap">{}</span>', cell(call.step_key))

    @admin.display(description="could be sent until")
    def could_be_sent_until(self, call: Call) -> SafeString:
        """Until when its last sending could still go out."""
        return when(call.deadline)

    @admin.display(description="settled")
    def settled(self, call: Call) -> SafeString:
        """When it was known what became of it."""
        return when(call.settled_at)

    @admin.display(description="marked as")
    def stood_for(self, call: Call) -> str:
        """What its mark stood for, in words."""
        return cell(in_words(INTENTS, call.intent))

    @admin.display(description="approval")
    def approval(self, call: Call) -> str:
        """What a person said of it, or that it waits for one."""
        told = [decision_told(it) for it in requests_of([call.approval_id]).values()]
        return cell(*told) if told else "none was asked for"

    @admin.display(description="attempt of the run")
    def attempt_shown(self, call: Call) -> str:
        """By which attempt of its run it was marked."""
        return cell(call.attempt)

    @admin.display(description="marked by")
    def carried_by(self, call: Call) -> SafeString:
        """The process that marked it, by name where it lives."""
        name = Holder.objects.filter(id=call.holder).values_list("name", flat=True).first()
        told = name or "a process that is gone"
        return format_html('{} <span class="liy-age liy-mono">{}</span>', cell(told), call.holder)

    @admin.display(description="its step key is")
    def has_key(self, call: Call) -> str:
        """Whether the key follows from what names the call, so that a second sending has the same."""
        if call.has_identity:
            return "made of the model's id of the call: the same at each sending"
        return "a new one: the model's id names no single call, so it is never sent again"

    @admin.display(description="the vendor dedupes on it")
    def deduped(self, call: Call) -> str:
        """How long a second sending with the same key does nothing."""
        seconds = call.key_window_seconds
        return f"for {span(seconds)}" if seconds else "no: it is not sent a second time"

    @admin.display(description="the model's id of it")
    def model_id(self, call: Call) -> str:
        """By what the model knows it."""
        return cell(call.provider_call_id)

    @admin.display(description="digest of what was meant")
    def digest(self, call: Call) -> SafeString:
        """What tells a write that was meant before."""
        return format_html('<span class="liy-mono liy-wrap">{}</span>', cell(call.intent_digest))


def sees_requests(user: Any) -> bool:
    """Whether a user may open the pages of requests."""
    return any(user.has_perm(it) for it in (VIEW_APPROVAL, DECIDE))


def as_uuid(text: str) -> UUID | None:
    """Return an id as it was written, None for anything else."""
    try:
        return UUID(text)
    except ValueError:
        return None
