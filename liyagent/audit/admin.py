"""The audit log in the console: to read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.audit.models import AuditRow
from liyagent.core.moments import when
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell, visible

LONGEST_DETAIL = 300
DEEPEST = 4


@admin.register(AuditRow)
class AuditRowAdmin(ReadOnlyAdmin):
    """Newest first; the database refuses changes, so the page offers none."""

    list_display = (
        "happened",
        "shown_action",
        "shown_actor",
        "short_detail",
        "run",
        "shown_mission",
    )
    list_display_links = ("happened",)
    search_fields = ("action",)
    search_help_text = "A run's id, a mission or an action such as agent.contained, in full"
    sortable_by = ()
    words_if_empty = "Nothing was recorded yet."
    ordering = ("-id",)
    fields = (
        "happened",
        "shown_action",
        "shown_actor",
        "run",
        "correlation_id",
        "shown_mission",
        "request_id",
        "shown_detail",
    )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Look by what an index leads to alone."""
        term = search_term.strip()
        if not term:
            return queryset, False
        try:
            return queryset.filter(run_id=UUID(term)), False
        except ValueError:
            return queryset.filter(Q(action=term) | Q(mission=term)), False

    @admin.display(description="when")
    def happened(self, row: AuditRow) -> SafeString:
        """When it happened."""
        return when(row.at)

    @admin.display(description="what")
    def shown_action(self, row: AuditRow) -> SafeString:
        """The action."""
        return format_html('<span class="liy-mono">{}</span>', cell(row.action))

    @admin.display(description="by")
    def shown_actor(self, row: AuditRow) -> str:
        """Who did it."""
        return cell(row.actor)

    @admin.display(description="mission")
    def shown_mission(self, row: AuditRow) -> str:
        """The mission where somebody named one."""
        return "-" if row.mission == str(row.correlation_id) else cell(row.mission)

    @admin.display(description="run")
    def run(self, row: AuditRow) -> SafeString:
        """Lead to the run."""
        if row.run_id is None:
            return format_html("{}", "-")
        address = reverse("admin:runs_run_change", args=[row.run_id])
        return format_html('<a class="liy-link liy-mono" href="{}">{}</a>', address, row.run_id)

    @admin.display(description="detail")
    def short_detail(self, row: AuditRow) -> SafeString:
        """The beginning of the detail."""
        text = "\n".join(lines_of(row.detail))
        cut = text if len(text) <= LONGEST_DETAIL else f"{text[:LONGEST_DETAIL]}…"
        return format_html('<div class="liy-words">{}</div>', cut or "-")

    @admin.display(description="detail")
    def shown_detail(self, row: AuditRow) -> SafeString:
        """All of the detail."""
        text = "\n".join(lines_of(row.detail))
        return format_html('<div class="liy-words">{}</div>', text or "-")


def lines_of(detail: Mapping[str, Any], depth: int = 0) -> list[str]:
    """Return a line `name: value` for each part, what is within one indented below it.

    What is invisible is written out, and so are line ends within a text: no value can pass for a line of its own.
    """
    lines: list[str] = []
    for name, value in detail.items():
        head = f"{'  ' * depth}{on_one_line(name)}:"
        parts = parts_of(value)
        if not parts:
            lines.append(f"{head} {on_one_line(value)}")
        elif depth < DEEPEST:
            lines += [head, *lines_of(parts, depth + 1)]
        else:
            lines.append(f"{head} {visible(json.dumps(value, ensure_ascii=False))}")
    return lines


def parts_of(value: Any) -> Mapping[str, Any]:
    """Return what is within a value, by name or number; nothing for one that fits on a line."""
    if isinstance(value, dict):
        return value
    is_list = isinstance(value, list) and any(isinstance(it, dict | list) for it in value)
    return {str(number): it for number, it in enumerate(value, 1)} if is_list else {}


def on_one_line(value: Any) -> str:
    """Return a plain value, or a list of them, on one line."""
    if isinstance(value, list):
        return ", ".join(on_one_line(it) for it in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = "" if value is None or value == {} else str(value)
    return visible(text.replace("\n", "\\n").replace("\t", "\\t")) or "-"
