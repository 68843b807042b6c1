"""Servers, tool contracts and policies in the admin."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db import models
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from liyagent.audit.record import record
from liyagent.core.errors import LiyagentError
from liyagent.core.forms import PlainJSONField
from liyagent.core.tables import cell
from liyagent.gateway.approve import approve_tool
from liyagent.gateway.models import Policy, Tool, ToolServer
from liyagent.gateway.policy_versions import activate_policy, add_policy

LONGEST_ERROR = 60
CATALOGUE = (
    "server",
    "name",
    "description",
    "schema",
    "hints",
    "fingerprint",
    "approved_fingerprint",
    "is_offered",
)


@admin.register(ToolServer)
class ToolServerAdmin(admin.ModelAdmin[ToolServer]):
    """Addresses; what was read is shown and not edited."""

    list_display = ("key", "state", "transport", "url", "catalogue_read_at")
    list_filter = ("transport", "is_enabled")
    readonly_fields = ("catalogue_read_at", "catalogue_error", "catalogue_error_since")

    @admin.display
    def state(self, server: ToolServer) -> str:
        """Say in words whether its tools can be read."""
        if not server.is_enabled:
            return "switched off"
        if server.catalogue_error:
            since = cell(server.catalogue_error_since)
            return f"unreadable since {since}: {cell(server.catalogue_error[:LONGEST_ERROR])}"
        return "ok" if server.catalogue_read_at else "not read yet"

    def save_model(
        self, request: HttpRequest, obj: ToolServer, form: ModelForm[ToolServer], change: bool
    ) -> None:
        """Save with an audit row, in the transaction that the admin opened."""
        super().save_model(request, obj, form, change)
        _record("server.saved", request, {"server": obj.key, "set": form.changed_data})


@admin.register(Tool)
class ToolAdmin(admin.ModelAdmin[Tool]):
    """The contract is edited; the catalogue's words are approved by an action."""

    list_display = ("__str__", "effect", "key_place", "is_offered", "is_approved")
    list_filter = ("server", "effect", "is_offered")
    search_fields = ("name", "description")
    readonly_fields = CATALOGUE
    formfield_overrides = {models.JSONField: {"form_class": PlainJSONField}}
    actions = ("approve",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Tools come from a catalogue."""
        return False

    def save_model(
        self, request: HttpRequest, obj: Tool, form: ModelForm[Tool], change: bool
    ) -> None:
        """Save with an audit row, in the transaction that the admin opened."""
        super().save_model(request, obj, form, change)
        _record("tool.set", request, {"tool": str(obj), "set": form.changed_data})

    @admin.action(description="Approve schema and description as shown", permissions=["change"])
    def approve(self, request: HttpRequest, queryset: QuerySet[Tool]) -> None:
        """Approve each chosen tool."""
        for tool in queryset.select_related("server"):
            try:
                approve_tool(tool, actor=request.user.get_username())
            except LiyagentError as error:
                self.message_user(request, str(error), messages.ERROR)


@admin.register(Policy)
class PolicyAdmin(admin.ModelAdmin[Policy]):
    """A stored version never changes; a new text is a new version, put into force by an action."""

    list_display = ("name", "version", "is_active", "created_at")
    list_filter = ("is_active",)
    fields = ("name", "text")
    actions = ("put_into_force",)

    def get_readonly_fields(
        self, request: HttpRequest, obj: Policy | None = None
    ) -> tuple[str, ...]:
        """A version that is stored is shown only."""
        return ("name", "text", "version", "is_active", "created_at") if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: Policy | None = None) -> bool:
        """Decisions of the past name their policies."""
        return False

    def save_model(
        self, request: HttpRequest, obj: Policy, form: ModelForm[Policy], change: bool
    ) -> None:
        """Add the next version of that name, in the transaction that the admin opened."""
        if not change:
            added = add_policy(obj.text, name=obj.name, actor=request.user.get_username())
            obj.pk, obj.version = added.pk, added.version

    @admin.action(description="Put into force", permissions=["change"])
    def put_into_force(self, request: HttpRequest, queryset: QuerySet[Policy]) -> None:
        """Activate the one chosen version."""
        if queryset.count() != 1:
            self.message_user(request, "Choose one version to put into force.", messages.ERROR)
            return
        try:
            activate_policy(queryset.get(), actor=request.user.get_username())
        except LiyagentError as error:
            self.message_user(request, str(error), messages.ERROR)


def _record(action: str, request: HttpRequest, detail: dict[str, Any]) -> None:
    record(action, actor=request.user.get_username(), detail=detail)
