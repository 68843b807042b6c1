"""Conversations in the console: whose they are and which runs, without any words: those are the runs'."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.core.moments import when
from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from liyagent.core.tables import cell
from liyagent.entry.copilot.models import Conversation, Turn
from liyagent.entry.operated import SeenWithRuns
from runs.doubts_admin import as_uuid

OUTCOMES = {"": GOOD, "answered": QUIET, "failed": BAD, "refused": BAD}


@admin.register(Conversation)
class ConversationAdmin(SeenWithRuns):
    """Newest first."""

    list_display = ("begun", "person", "agent", "count", "last", "its_turns")
    search_fields = ("owner__exact",)
    search_help_text = "The name of a user, as a whole."
    words_if_empty = "Nobody has talked with an agent yet."
    words_above = (
        "Who talks with which agent. "
        "Each turn is a run, and one is asked at a time: where a conversation stands still, open its turns and look at the newest run."
    )
    fields = ("person", "agent", "title", "mission", "count", "its_turns", "begun", "last")

    @admin.display(description="begun")
    def begun(self, conversation: Conversation) -> SafeString:
        """When it was begun."""
        return when(conversation.created_at)

    @admin.display(description="whose")
    def person(self, conversation: Conversation) -> str:
        """Who talks."""
        return cell(conversation.owner)

    @admin.display(description="agent")
    def agent(self, conversation: Conversation) -> str:
        """With whom."""
        return cell(conversation.agent_key)

    @admin.display(description="turns")
    def count(self, conversation: Conversation) -> int:
        """How many turns it has."""
        return conversation.turns

    @admin.display(description="last asked")
    def last(self, conversation: Conversation) -> SafeString:
        """When something was asked last."""
        return when(conversation.changed_at)

    @admin.display(description="what was asked")
    def its_turns(self, conversation: Conversation) -> SafeString:
        """Lead to its turns."""
        address = reverse("admin:copilot_turn_changelist")
        return format_html('<a class="liy-link" href="{}?q={}">its turns</a>', address, conversation.id)  # fmt: skip


@admin.register(Turn)
class TurnAdmin(SeenWithRuns):
    """Newest first; of one conversation by its id."""

    list_display = ("asked", "number", "state", "run")
    search_fields = ("conversation__id__exact",)
    search_help_text = "The id of a conversation."
    ordering = ("-id",)
    words_if_empty = "Nothing was asked yet."
    fields = ("conversation", "number", "state", "run", "told_before", "asked", "ended")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Turn]:
        """Leave the words in the database."""
        rows: QuerySet[Turn] = super().get_queryset(request)
        return rows.defer("sealed")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By a whole id alone; what is none finds nothing."""
        term = search_term.strip()
        if not term:
            return queryset, False
        found = as_uuid(term)
        return (queryset.filter(conversation_id=found) if found else queryset.none()), False

    @admin.display(description="asked")
    def asked(self, turn: Turn) -> SafeString:
        """When it was asked."""
        return when(turn.asked_at)

    @admin.display(description="ended")
    def ended(self, turn: Turn) -> SafeString:
        """When its run ended."""
        return when(turn.ended_at)

    @admin.display(description="earlier turns")
    def told_before(self, turn: Turn) -> str:
        """How many of them its run was told."""
        left_out = f"; {turn.left_out} were left out" if turn.left_out else ""
        return f"its run was told {turn.given}{left_out}"

    @admin.display(description="state")
    def state(self, turn: Turn) -> SafeString:
        """How its run ended, or that it goes on."""
        return pill(turn.outcome or "open", OUTCOMES.get(turn.outcome, WARN))

    @admin.display(description="run")
    def run(self, turn: Turn) -> SafeString:
        """Lead to the run, where there is one."""
        if turn.outcome == "refused":
            return format_html("{}", "-")
        address = reverse("admin:runs_run_change", args=[turn.run_id])
        return format_html('<a class="liy-link liy-mono" href="{}">{}</a>', address, turn.run_id)
