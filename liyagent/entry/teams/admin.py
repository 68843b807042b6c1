"""Bots, people and turns in the console. What is saved is saved by the verbs."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.core.console import action
from liyagent.core.moments import when
from liyagent.core.pills import GOOD, WARN, pill
from liyagent.core.tables import cell
from liyagent.entry.operated import OperatedAdmin, SeenWithRuns, saver_in
from liyagent.entry.teams.bots import CHECKS, remove_bot, save_bot
from liyagent.entry.teams.models import TeamsBot, TeamsPerson, TeamsTurn
from liyagent.entry.teams.people import remove_person, save_person


class BotForm(forms.ModelForm[TeamsBot]):
    """What is not changed is not said; who starts its runs may be left out."""

    started_by = forms.CharField(
        required=False,
        max_length=150,
        help_text="Empty: yourself. Somebody else is named by who keeps users.",
    )

    class Meta:
        model = TeamsBot
        fields = ("key", *(column for column, _, _ in CHECKS.values()))

    def given(self) -> dict[str, Any]:
        """Return what was filled in, by the names that the verb knows."""
        columns = {column: name for name, (column, _, _) in CHECKS.items()}
        return {columns[it]: self.cleaned_data[it] for it in self.cleaned_data if it in columns}


@admin.register(TeamsBot)
class TeamsBotAdmin(OperatedAdmin):
    """Registrations at the Bot Framework and the agents that answer there."""

    form = BotForm
    list_display = ("key", "state", "agent", "started", "saved", "turns")
    search_fields = ("key", "agent_key")
    sortable_by = ("key",)
    words_if_empty = "There is no Teams bot yet."
    words_above = (
        "Who answers in Teams. "
        "Where one is silent, manage.py teams check KEY says whether its keys and its token can be had; what it owes is among the deliveries."
    )
    actions_detail = ("remove",)
    fieldsets = (
        (None, {"fields": ("key", "agent_key", "started_by", "is_enabled")}),
        ("Its registration", {"fields": ("app_id", "tenant", "secret_env")}),
        ("Another cloud", {"fields": ("metadata_url", "issuer", "token_url", "scope")}),
    )

    def get_readonly_fields(
        self, request: HttpRequest, obj: TeamsBot | None = None
    ) -> tuple[str, ...]:
        """A key once given stays."""
        return ("key",) if obj else ()

    @admin.display(description="state")
    def state(self, bot: TeamsBot) -> SafeString:
        """Whether it receives."""
        return pill("enabled", GOOD) if bot.is_enabled else pill("disabled", WARN)

    @admin.display(description="agent")
    def agent(self, bot: TeamsBot) -> str:
        """Who answers."""
        return cell(bot.agent_key)

    @admin.display(description="runs started by")
    def started(self, bot: TeamsBot) -> str:
        """Whose runs its turns are."""
        return cell(bot.started_by)

    @admin.display(description="saved")
    def saved(self, bot: TeamsBot) -> SafeString:
        """When, and by whom."""
        return format_html("{} by {}", when(bot.updated_at), cell(bot.saved_by))

    @admin.display(description="turns")
    def turns(self, bot: TeamsBot) -> SafeString:
        """Lead to what was said to it."""
        address = reverse("admin:teams_teamsturn_changelist")
        return format_html('<a class="liy-link" href="{}?q={}">its turns</a>', address, bot.key)

    def save_model(self, request: HttpRequest, obj: TeamsBot, form: BotForm, change: bool) -> None:
        """Save through the verb."""
        obj.pk = save_bot(obj.key, form.given(), saver=saver_in(request)).pk

    @action(description="Remove", permissions=["operate"])
    def remove(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then forget it."""
        bot = self.row_or_404(request, object_id)
        told = ["Its conversations get no answer any more. Refused while turns of it go on."]
        return self.removed(
            request, bot, lambda: remove_bot(bot.key, actor=request.user.get_username()), told=told
        )


class PersonForm(forms.ModelForm[TeamsPerson]):
    """An account, and the user that it is."""

    class Meta:
        model = TeamsPerson
        fields = ("aad_object_id", "username")


@admin.register(TeamsPerson)
class TeamsPersonAdmin(OperatedAdmin):
    """Which user's rights the buttons of an account have."""

    form = PersonForm
    list_display = ("aad_object_id", "user", "saved")
    search_fields = ("aad_object_id", "username")
    sortable_by = ("aad_object_id",)
    words_if_empty = "No Teams account is known yet: nobody decides by a card."
    actions_detail = ("remove",)

    def get_readonly_fields(
        self, request: HttpRequest, obj: TeamsPerson | None = None
    ) -> tuple[str, ...]:
        """An account stays the account."""
        return ("aad_object_id",) if obj else ()

    @admin.display(description="is")
    def user(self, person: TeamsPerson) -> str:
        """The user."""
        return cell(person.username)

    @admin.display(description="saved")
    def saved(self, person: TeamsPerson) -> SafeString:
        """When, and by whom."""
        return format_html("{} by {}", when(person.updated_at), cell(person.saved_by))

    def save_model(
        self, request: HttpRequest, obj: TeamsPerson, form: PersonForm, change: bool
    ) -> None:
        """Save through the verb."""
        obj.pk = save_person(obj.aad_object_id, obj.username, saver=saver_in(request)).pk

    @action(description="Remove", permissions=["operate"])
    def remove(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then let the account be nobody."""
        person = self.row_or_404(request, object_id)
        account, actor = person.aad_object_id, request.user.get_username()
        told = ["Its buttons decide nothing any more."]
        return self.removed(request, person, lambda: remove_person(account, actor=actor), told=told)


@admin.register(TeamsTurn)
class TeamsTurnAdmin(SeenWithRuns):
    """What was said to bots, without any words: those are the run's."""

    list_display = ("run", "bot", "where", "account", "answered_in", "created")
    search_fields = ("=bot_key",)
    words_if_empty = "Nothing was said to a bot yet."

    @admin.display(description="run")
    def run(self, turn: TeamsTurn) -> SafeString:
        """Lead to the run."""
        address = reverse("admin:runs_run_change", args=[turn.run_id])
        return format_html('<a class="liy-link liy-mono" href="{}">{}</a>', address, turn.run_id)

    @admin.display(description="bot")
    def bot(self, turn: TeamsTurn) -> str:
        """Whom it was said to."""
        return cell(turn.bot_key)

    @admin.display(description="conversation")
    def where(self, turn: TeamsTurn) -> SafeString:
        """Where it was said."""
        return format_html('<span class="liy-wrap">{}</span>', cell(turn.conversation))

    @admin.display(description="account")
    def account(self, turn: TeamsTurn) -> str:
        """Who said it."""
        return cell(turn.person)

    @admin.display(description="answered in")
    def answered_in(self, turn: TeamsTurn) -> str:
        """The activity that its answer is put in."""
        return cell(turn.reply)

    @admin.display(description="received")
    def created(self, turn: TeamsTurn) -> SafeString:
        """When it came."""
        return when(turn.created_at)
