"""Runs and their marked calls in the console: to read. No list reads a body."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from liyagent.agents.models import Agent
from liyagent.core.paging import BoundedPaginator
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell
from liyagent.gateway.outcome import Fate
from liyagent.leases.models import Holder
from runs.head import BODIES, calls_of, lease_of, takeovers_of
from runs.models import Call, Run
from runs.unknown import UNKNOWN, having_unknown_writes, with_unknown_writes

CALL_COLUMNS = (
    "step",
    "index",
    "server",
    "tool",
    "effect",
    "fate",
    "settlement",
    "marked_at",
    "settled_at",
)
TAKEOVER_COLUMNS = ("at", "attempt", "losses", "cause", "step", "holder")
MOST_CHOICES = 200
LONGEST_REASON = 60
SHOWN_FIRST = (
    "status",
    "reason",
    "agent_key",
    "started_by",
    "mission",
    "created_at",
    "ended_at",
    "model_steps",
    "losses",
    "unknown",
    "lease",
)


class ByAgent(admin.SimpleListFilter):
    """Chooses among the agents there are; Django's own filter would look through every run for them."""

    title = "agent"
    parameter_name = "agent_key"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the agents' keys."""
        keys = Agent.objects.order_by("key").values_list("key", flat=True)[:MOST_CHOICES]
        return [(key, key) for key in keys]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the runs of the chosen agent."""
        return queryset.filter(agent_key=self.value()) if self.value() else queryset


class ByUnknown(admin.SimpleListFilter):
    """Chooses the runs a person has to look after."""

    title = "writes"
    parameter_name = "writes"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the one choice."""
        return [("unknown", "has writes of unknown outcome")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the chosen runs."""
        return having_unknown_writes(queryset) if self.value() == "unknown" else queryset


class ByFate(admin.SimpleListFilter):
    """Chooses what became of a call."""

    title = "fate"
    parameter_name = "fate"
    IN_FLIGHT = "in-flight"
    NOT_FOUND = "not-found"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the fates, and what has none yet."""
        return [
            (self.IN_FLIGHT, "in flight"),
            (self.NOT_FOUND, "unknown, not found since"),
            *((it.value, it.value) for it in Fate),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the calls of the chosen fate."""
        chosen = self.value()
        if not chosen:
            return queryset
        if chosen == self.NOT_FOUND:
            return queryset.filter(UNKNOWN)
        return queryset.filter(fate="" if chosen == self.IN_FLIGHT else chosen)


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    """Newest first."""

    list_display = (
        "created_at",
        "status",
        "agent_key",
        "steps",
        "losses",
        "unknown",
        "holder_name",
        "reason_shown",
        "named_mission",
        "id",
    )
    list_display_links = ("created_at", "id")
    list_filter = ("status", ByUnknown, ByAgent)
    paginator = BoundedPaginator
    search_fields = ("=id", "=correlation_id", "=mission")
    search_help_text = "A run's id, its correlation id or its mission, in full"
    show_full_result_count = False
    list_per_page = 50
    ordering = ("-created_at", "-id")
    fieldsets = (
        (None, {"fields": SHOWN_FIRST}),
        ("Calls", {"fields": ("calls",)}),
        ("Takeovers", {"fields": ("takeovers",)}),
        (
            "Inner state",
            {
                "classes": ("collapse",),
                "fields": [
                    field.name
                    for field in Run._meta.fields
                    if field.name not in {*BODIES, *SHOWN_FIRST}
                ],
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave the seal in the database; bring the holder's name along."""
        name = Holder.objects.filter(id=OuterRef("holder")).values("name")
        rows = super().get_queryset(request).defer(*BODIES)
        named: QuerySet[Any] = with_unknown_writes(rows).annotate(held_by=Subquery(name))
        return named

    @admin.display(description="steps", ordering="model_steps")
    def steps(self, run: Run) -> int:
        """Count its model steps under a short head."""
        return run.model_steps

    @admin.display(description="unknown")
    def unknown(self, run: Any) -> str:
        """Say how many of its writes are of unknown outcome."""
        return cell(run.unknown_writes)

    @admin.display(description="holder")
    def holder_name(self, run: Any) -> str:
        """Name who carries the run."""
        return cell(run.held_by or run.holder)

    @admin.display(description="mission")
    def named_mission(self, run: Run) -> str:
        """Show the mission where somebody named one."""
        return "-" if run.mission == str(run.correlation_id) else cell(run.mission)

    @admin.display(description="reason")
    def reason_shown(self, run: Run) -> str:
        """Begin to say why it ended as it did."""
        return cell(run.reason[:LONGEST_REASON])

    @admin.display
    def lease(self, run: Run) -> str:
        """Show the lease of a running run."""
        lease = lease_of(run)
        return f"{lease['name']}: {lease['holder']} until {cell(lease['until'])}" if lease else "-"

    @admin.display
    def calls(self, run: Run) -> SafeString:
        """Show each call, in order, with what became of it."""
        calls, is_truncated = calls_of(run)
        shown = table(CALL_COLUMNS, calls)
        return format_html("{}<p>There are more.</p>", shown) if is_truncated else shown

    @admin.display
    def takeovers(self, run: Run) -> SafeString:
        """Show how often and where the run was taken over, and how each call was settled."""
        found = [
            {
                **row,
                "settled": ", ".join(f"{it['call']}: {it['settlement']}" for it in row["calls"]),
            }
            for row in takeovers_of(run)
        ]
        return table((*TAKEOVER_COLUMNS, "settled"), found)


@admin.register(Call)
class CallAdmin(ReadOnlyAdmin):
    """Marked writes, newest first."""

    list_display = (
        "id",
        "run_link",
        "step",
        "index",
        "server",
        "tool",
        "intent",
        "fate",
        "settlement",
        "marked_at",
    )
    list_filter = (ByFate, "intent")
    paginator = BoundedPaginator
    search_fields = ("=run_id", "=correlation_id", "=step_key")
    search_help_text = "A run's id, a correlation id or a step key, in full"
    show_full_result_count = False
    ordering = ("-id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave the sealed bytes in the database."""
        return super().get_queryset(request).defer("sealed", "outcome")

    @admin.display(description="run", ordering="run_id")
    def run_link(self, call: Call) -> SafeString:
        """Lead to the run."""
        address = reverse("admin:runs_run_change", args=[call.run_id])
        return format_html('<a href="{}">{}</a>', address, call.run_id)


def table(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> SafeString:
    """Return rows as an HTML table, everything escaped."""
    if not rows:
        return format_html("{}", "-")
    heads = format_html_join("", "<th>{}</th>", ((it.replace("_", " "),) for it in columns))
    lines = format_html_join(
        "",
        "<tr>{}</tr>",
        (
            (format_html_join("", "<td>{}</td>", ((cell(row.get(it)),) for it in columns)),)
            for row in rows
        ),
    )
    return format_html("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", heads, lines)
