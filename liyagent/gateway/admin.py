"""Servers, tool contracts, policies and data policies in the console. What is saved is saved by the verbs."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from liyagent.core.console import NothingToSay, VerbAdmin, action, json_field
from liyagent.core.errors import BadInput, LiyagentError
from liyagent.core.moments import span, when
from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from liyagent.core.tables import cell, visible
from liyagent.gateway.approve import approve_tool
from liyagent.gateway.declare import OAUTH, SERVER, read_server
from liyagent.gateway.diff import changes_of, heading_of
from liyagent.gateway.filters import ByApproval
from liyagent.gateway.models import DataPolicy, Policy, Tool, ToolServer
from liyagent.gateway.policy_pages import DataPolicyAdmin, PolicyAdmin
from liyagent.gateway.servers import remove_server, save_server, set_contract, switch_server
from liyagent.gateway.states import catalogue_state, in_doubt_of, server_state, tool_state
from liyagent.gateway.sync import sync_server

LONGEST_STATE = 240
MOST_CHOSEN = 50
MOST_DIFFERENCES = 2000
TOLD = ("description", "schema", "hints")
CONTRACT = (
    "effect", "key_place", "key_field", "key_window_seconds", "reader", "undo", "permission", "timeout_seconds", "limit_bytes",
)  # fmt: skip
DIFFERENCE_HEADS = frozenset(
    f"{sign} {name} {state}"
    for name in ("description", "schema")
    for sign, state in (("---", "approved"), ("+++", "now"))
)
SIGNS = {"+": "liy-new", "-": "liy-gone"}


class ServerForm(forms.ModelForm[ToolServer]):
    """Checks as a file is checked; what is not changed is not said."""

    class Meta:
        model = ToolServer
        fields = ("key", *SERVER, *(column for column, _ in OAUTH.values()))

    def declaration(self) -> dict[str, Any]:
        """Return what was changed as a file would declare it."""
        changed = {name: self.cleaned_data[name] for name in SERVER if name in self.changed_data}
        key = self.instance.key if self.instance.pk else self.cleaned_data.get("key", "")
        columns = {name: self.cleaned_data.get(column, "") for name, (column, _) in OAUTH.items()}
        if any(column in self.changed_data for column, _ in OAUTH.values()):
            changed["oauth"] = columns if any(columns.values()) else {}
        return {"key": key, **changed}

    def clean(self) -> dict[str, Any]:
        """Show what a file would be refused for."""
        if not self.errors:
            try:
                read_server(self.declaration(), "the form")
            except BadInput as error:
                self.add_error(None, str(error))
        return self.cleaned_data


@admin.register(ToolServer)
class ToolServerAdmin(VerbAdmin):
    """Addresses; what was read is shown and not edited."""

    form = ServerForm
    list_display = ("key", "state", "shown_address", "read_at", "tools")
    list_filter = ("transport", "is_enabled")
    search_fields = ("key", "name")
    sortable_by = ("key",)
    words_if_empty = "There is no tool server yet: runs have no tools."
    actions_detail = ("sync", "switch", "remove")
    readonly_fields = ("state", "read_at")
    fieldsets = (
        (None, {"fields": ("key", "name", "is_enabled", "state", "read_at")}),
        ("Where it is", {"fields": ("transport", "url", "command", "vendor")}),
        ("Its token", {"fields": ("bearer_env", *(column for column, _ in OAUTH.values()))}),
    )

    def get_readonly_fields(
        self, request: HttpRequest, obj: ToolServer | None = None
    ) -> tuple[str, ...]:
        """A key once given stays."""
        return ("key", "state", "read_at") if obj else ("state", "read_at")

    def has_remove_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Removing wants what deleting does."""
        return request.user.has_perm("gateway.delete_toolserver")

    @admin.display(description="state")
    def state(self, server: ToolServer) -> SafeString:
        """Say in words whether its tools can be read."""
        if not server.pk:
            return format_html("{}", "not saved yet")
        told = catalogue_state(server)
        cut = told if len(told) <= LONGEST_STATE else f"{told[:LONGEST_STATE]}…"
        return format_html(
            '{} <span class="liy-age liy-wrap{}">catalogue {}</span>',
            pill(server_state(server), GOOD if server.is_enabled else WARN),
            " liy-alarmed" if server.catalogue_error else "", cell(cut),
        )  # fmt: skip

    @admin.display(description="reached by")
    def shown_address(self, server: ToolServer) -> SafeString:
        """The address or the registered command."""
        where = server.url or server.command or "in this process"
        return format_html(
            '<span class="liy-wrap">{}</span> <span class="liy-age">{}</span>',
            cell(where),
            server.transport,
        )

    @admin.display(description="catalogue read")
    def read_at(self, server: ToolServer) -> SafeString:
        """When its catalogue was read last."""
        return when(server.catalogue_read_at)

    @admin.display(description="tools")
    def tools(self, server: ToolServer) -> SafeString:
        """Lead to its tools."""
        address = reverse("admin:gateway_tool_changelist")
        return format_html(
            '<a class="liy-link" href="{}?server__id__exact={}">its tools</a>', address, server.pk
        )

    def save_model(
        self, request: HttpRequest, obj: ToolServer, form: ServerForm, change: bool
    ) -> None:
        """Save through the verb."""
        saved = save_server(
            read_server(form.declaration(), "the form"), actor=request.user.get_username()
        )
        obj.pk = saved.pk

    @action(description="Read its catalogue", permissions=["change"])
    def sync(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then read the catalogue now."""
        server = self.row_or_404(request, object_id)
        if request.method != "POST":
            told = [
                "The server is asked for its tools. New and changed ones wait for approval; what is gone is no longer offered."
            ]
            return self.confirm(
                request, title=f"Read the catalogue of {server}", told=told, button="Read it now", form=NothingToSay(),
                extra={"is_harmless": True, "cancel": self.page_address(server)},
            )  # fmt: skip
        try:
            found = sync_server(server, actor=request.user.get_username())
        except LiyagentError as error:
            self.message_user(request, str(error), messages.ERROR)
        else:
            level = messages.ERROR if found.error else messages.SUCCESS
            told_of = f"{len(found.offered)} tools offered, {len(found.to_approve)} to approve, {len(found.gone)} gone."
            self.message_user(request, visible(found.error) or told_of, level)
        return HttpResponseRedirect(self.list_address())

    @action(description="Switch on or off", permissions=["change"])
    def switch(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then switch it to the other state."""
        server = self.row_or_404(request, object_id)
        to_enabled = (
            not server.is_enabled if request.method != "POST" else request.POST.get("to") == "on"
        )
        word = "on" if to_enabled else "off"
        if request.method == "POST":
            actor = request.user.get_username()
            self.carry_out(
                request, lambda: switch_server(server.key, to_enabled=to_enabled, actor=actor), done=f"{server} is switched {word}."
            )  # fmt: skip
            return HttpResponseRedirect(self.list_address())
        told = [
            "Calls may reach it again."
            if to_enabled
            else "No call reaches it, from each run's next statement on: they are refused."
        ]
        return self.confirm(
            request, title=f"Switch {server} {word}", told=told, button=f"Switch it {word}", form=NothingToSay(),
            hidden=[("to", word)], extra={"is_harmless": to_enabled, "cancel": self.page_address(server)},
        )  # fmt: skip

    @action(description="Remove", permissions=["remove"])
    def remove(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then forget it with its tools and their contracts."""
        server = self.row_or_404(request, object_id)
        if request.method == "POST":
            actor = request.user.get_username()
            self.carry_out(
                request,
                lambda: remove_server(server.key, actor=actor),
                done=f"{server} is removed.",
            )
            return HttpResponseRedirect(self.list_address())
        tools = server.tools.count()
        told = [
            f"The server is forgotten, with its {tools} tools and what was declared of them. Runs that ask for them are refused.",
            "It is not removed while a write is in doubt at it.",
        ]
        return self.confirm(
            request, title=f"Remove {server}", told=told, button="Remove it", form=NothingToSay(), extra={"cancel": self.page_address(server)}
        )  # fmt: skip


class ToolForm(forms.ModelForm[Tool]):
    """The contract alone."""

    class Meta:
        model = Tool
        fields = CONTRACT


@admin.register(Tool)
class ToolAdmin(VerbAdmin):
    """The contract is edited; the catalogue's words are approved, once their change was shown."""

    form = ToolForm
    list_display = (
        "tool",
        "shown_effect",
        "shown_key",
        "shown_reader",
        "if_in_doubt",
        "shown_permission",
        "state",
    )
    list_filter = (ByApproval, "effect", "is_offered", "server")
    search_fields = ("name", "server__key")
    sortable_by = ()
    words_if_empty = "There is no tool yet: tools come with a server's catalogue, once it was read."
    list_select_related = ("server",)
    formfield_overrides = {models.JSONField: json_field()}
    readonly_fields = ("tool", "state", "difference", "shown_description", "shown_schema")
    actions = ("approve",)
    actions_detail = ("approve_one",)
    fieldsets = (
        (None, {"fields": ("tool", "state", "difference")}),
        ("What we hold true of it (its contract)", {"fields": CONTRACT}),
        ("What its server tells of it", {"fields": ("shown_description", "shown_schema")}),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Tools come from a catalogue."""
        return False

    @admin.display(description="tool")
    def tool(self, tool: Tool) -> SafeString:
        """Server and name, and the beginning of what it says of itself."""
        told = cell(tool.description[:80]) + ("…" if len(tool.description) > 80 else "")
        return format_html(
            '<span class="liy-wrap">{}</span> <span class="liy-age liy-wrap">{}</span>',
            cell(str(tool)),
            told,
        )

    @admin.display(description="effect")
    def shown_effect(self, tool: Tool) -> SafeString:
        """Whether it only reads."""
        return pill(tool.effect, QUIET if tool.effect == "read" else WARN)

    @admin.display(description="key")
    def shown_key(self, tool: Tool) -> SafeString:
        """Where the vendor takes our key, and how long it dedupes on it."""
        if tool.key_place == "none":
            return format_html("{}", "-")
        place = f"argument {tool.key_field}" if tool.key_field else tool.get_key_place_display()
        window = (
            f"deduped for {span(tool.key_window_seconds)}"
            if tool.key_window_seconds
            else "only stored"
        )
        return format_html('{} <span class="liy-age">{}</span>', cell(place), window)

    @admin.display(description="reader, undo")
    def shown_reader(self, tool: Tool) -> SafeString:
        """How it is found again, and how it is undone."""
        reader = tool.reader.get("tool", "yes") if isinstance(tool.reader, dict) else "no reader"
        return format_html(
            '{} <span class="liy-age">{}</span>',
            cell(reader),
            "has an undo" if tool.undo else "no undo",
        )

    @admin.display(description="a write in doubt is")
    def if_in_doubt(self, tool: Tool) -> str:
        """What becomes of a write whose process died."""
        return in_doubt_of(tool) or "-"

    @admin.display(description="permission")
    def shown_permission(self, tool: Tool) -> str:
        """What its principal must hold."""
        return cell(tool.permission)

    @admin.display(description="state")
    def state(self, tool: Tool) -> SafeString:
        """Whether it is offered, and waits for approval."""
        kind = GOOD if tool.is_approved else BAD
        return pill(tool_state(tool), kind if tool.is_offered else QUIET)

    @admin.display(description="what changed since it was approved")
    def difference(self, tool: Tool) -> SafeString:
        """The change that is to be approved."""
        return format_html("{}{}", cell(heading_of(tool)), difference_table(tool))

    @admin.display(description="description")
    def shown_description(self, tool: Tool) -> SafeString:
        """As the server tells it, what is invisible written out."""
        return format_html('<div class="liy-words">{}</div>', visible(tool.description) or "-")

    @admin.display(description="schema of its arguments")
    def shown_schema(self, tool: Tool) -> SafeString:
        """As the server tells it."""
        return format_html(
            '<div class="liy-words liy-mono">{}</div>',
            visible(json.dumps(tool.schema, indent=2, ensure_ascii=False, sort_keys=True)),
        )

    def save_model(self, request: HttpRequest, obj: Tool, form: ToolForm, change: bool) -> None:
        """Save what was changed through the verb."""
        columns = {name: form.cleaned_data[name] for name in form.changed_data}
        if columns:
            set_contract(obj, columns, actor=request.user.get_username())

    @action(description="Approve as their servers tell them now", permissions=["change"])
    def approve(self, request: HttpRequest, queryset: QuerySet[Tool]) -> HttpResponse | None:
        """Show every change, then approve what was shown."""
        tools = list(
            queryset.select_related("server").order_by("server__key", "name")[:MOST_CHOSEN]
        )
        if "confirmed" not in request.POST:
            return self.ask(
                request,
                tools,
                hidden=[("action", "approve"), *(("_selected_action", str(it.pk)) for it in tools)],
            )
        for tool in tools:
            self.approve_shown(request, tool)
        return None

    @action(description="Approve", permissions=["change"])
    def approve_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the change, then approve it."""
        tool = self.row_or_404(request, object_id)
        if request.method != "POST":
            return self.ask(request, [tool], hidden=[])
        self.approve_shown(request, tool)
        return HttpResponseRedirect(self.list_address())

    def ask(
        self, request: HttpRequest, tools: list[Tool], *, hidden: list[tuple[str, str]]
    ) -> HttpResponse:
        """Show what is to be approved; what was shown is what is approved."""
        told = [
            "From the next statement of each run on, models are shown these words and this schema, and calls are let through to it.",
            "Read every changed line: a description is an instruction to the model.",
        ]
        shown = [{"heading": cell(heading_of(it)), "table": difference_table(it)} for it in tools]
        return self.confirm(
            request, title=f"Approve {len(tools)} tool{'s' if len(tools) != 1 else ''}", told=told, button="Approve what is shown",
            form=NothingToSay(), hidden=[*hidden, *((f"shown-{it.pk}", it.fingerprint) for it in tools)], extra={"differences": shown},
        )  # fmt: skip

    def approve_shown(self, request: HttpRequest, tool: Tool) -> None:
        """Approve a tool as it was shown on the page before."""
        shown, actor = request.POST.get(f"shown-{tool.pk}", ""), request.user.get_username()
        self.carry_out(
            request,
            lambda: approve_tool(tool, actor=actor, fingerprint=shown),
            done=f"{tool} is approved.",
        )


def difference_table(tool: Tool) -> SafeString:
    """Return what changed in a tool since it was approved, line by line; what is not shown is said."""
    lines = changes_of(tool).split("\n")
    if lines == [""]:
        return format_html("{}", "")
    rows = format_html_join(
        "",
        '<tr class="{}"><td class="liy-sign">{}</td><td>{}</td></tr>',
        map(difference_line, lines[:MOST_DIFFERENCES]),
    )
    cut = len(lines) - MOST_DIFFERENCES
    note = (
        f"{cut} further lines are not shown: `manage.py tools diff` shows them." if cut > 0 else ""
    )
    return format_html('<table class="liy-diff">{}</table><p>{}</p>', rows, note)


def difference_line(line: str) -> tuple[str, str, str]:
    """Return a line's colour, sign and text. Whatever it begins with, all of it is shown."""
    if line in DIFFERENCE_HEADS or line.startswith("@@"):
        return ("liy-head", "", line)
    return (SIGNS.get(line[:1], ""), line[:1], line[1:])


admin.site.register(Policy, PolicyAdmin)
admin.site.register(DataPolicy, DataPolicyAdmin)
