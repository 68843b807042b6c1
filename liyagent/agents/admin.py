"""Agents in the console: saving goes through the verb, so that it is checked, versioned and audited."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest

from liyagent.agents.containment import contain_agent, release_agent
from liyagent.agents.definitions import save_agent
from liyagent.agents.fields import CHECKS, DEFAULTS, problems_of
from liyagent.agents.models import Agent, AgentVersion
from liyagent.core.errors import LiyagentError
from liyagent.core.forms import PlainJSONField
from liyagent.core.tables import cell


class AgentForm(forms.ModelForm[Agent]):
    """Checks as a file is checked."""

    class Meta:
        model = Agent
        fields = tuple(CHECKS)

    def definition(self) -> dict[str, Any]:
        """Return what the form holds as a definition; a key once given stays."""
        key = {"key": self.instance.key} if self.instance.pk else {}
        return {**self.cleaned_data, **key}

    def clean(self) -> dict[str, Any]:
        """Show each problem beside its field; a list or object left empty has its default."""
        for name, value in self.cleaned_data.items():
            if value is None and name in DEFAULTS:
                self.cleaned_data[name] = deepcopy(DEFAULTS[name])
        for name, problem in problems_of(self.definition())[1].items():
            if name not in self.errors:
                self.add_error(name if name in self.fields else None, problem)
        return self.cleaned_data


class VersionInline(admin.TabularInline[AgentVersion, Agent]):
    """What the agent was, version by version."""

    model = AgentVersion
    fields = ("number", "created_by", "created_at", "definition")
    readonly_fields = fields
    extra = 0
    max_num = 0
    can_delete = False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody changes a version."""
        return False


@admin.register(Agent)
class AgentAdmin(admin.ModelAdmin[Agent]):
    """Agents are switched off or contained, never deleted: runs name them."""

    form = AgentForm
    formfield_overrides = {models.JSONField: {"form_class": PlainJSONField}}
    list_display = (
        "key",
        "name",
        "version",
        "provider",
        "model",
        "write_posture",
        "state",
    )
    list_filter = ("is_contained", "is_enabled", "provider", "write_posture", "recording")
    search_fields = ("key", "name")
    inlines = (VersionInline,)
    actions = ("contain", "release")

    @admin.display
    def state(self, agent: Agent) -> str:
        """Say in words whether it works."""
        if agent.is_contained:
            return f"contained: {cell(agent.contained_reason)}"
        return "ready" if agent.is_enabled else "switched off"

    def get_readonly_fields(
        self, request: HttpRequest, obj: Agent | None = None
    ) -> tuple[str, ...]:
        """A key once given stays."""
        return ("key",) if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        """Nobody deletes an agent."""
        return False

    def save_model(self, request: HttpRequest, obj: Agent, form: AgentForm, change: bool) -> None:
        """Save through the verb."""
        saved = save_agent(form.definition(), actor=request.user.get_username())
        obj.pk, obj.version = saved.pk, saved.version

    @admin.action(description="Contain the chosen agents", permissions=["change"])
    def contain(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        """Contain each; one that already is, is named."""
        actor = request.user.get_username()
        for agent in queryset:
            try:
                contain_agent(agent.key, actor=actor, reason="contained in the console")
            except LiyagentError as error:
                self.message_user(request, str(error), messages.WARNING)

    @admin.action(description="Release the chosen agents", permissions=["change"])
    def release(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        """Release each; one that is not contained is named."""
        for agent in queryset:
            try:
                release_agent(agent.key, actor=request.user.get_username())
            except LiyagentError as error:
                self.message_user(request, str(error), messages.WARNING)
