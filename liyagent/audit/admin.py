"""The audit log in the console: to read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from liyagent.audit.concerns_admin import ConcernAdmin
from liyagent.audit.detail import short_detail
from liyagent.audit.filters import FILTERS, narrowed
from liyagent.audit.models import AuditRow, Concern
from liyagent.core.moments import when
from liyagent.core.pills import QUIET, pill
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell, visible

LONGEST_DETAIL, LONGEST_SHOWN = 300, 100_000
DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{28,}\b")
LONG = "More than fits into a list: see the row itself."
DEEPEST = 4

admin.site.register(Concern, ConcernAdmin)


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
    list_filter = FILTERS
    search_fields = ("action",)
    search_help_text = (
        "A run's id, a mission, who did it, an agent or an action such as agent.run: each in full"
    )
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
        "shown_request",
        "shown_detail",
    )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Look by what an index leads to alone; the rest is compared among the newest of it."""
        rows = queryset.defer("detail").annotate(short=short_detail())
        return narrowed(rows, request, _looked_for(search_term.strip())), False

    @admin.display(description="when")
    def happened(self, row: AuditRow) -> SafeString:
        """When it happened."""
        return when(row.at)

    @admin.display(description="what")
    def shown_action(self, row: AuditRow) -> SafeString:
        """The action."""
        return format_html('<span class="liy-mono">{}</span>', cell(row.action))

    @admin.display(description="by")
    def shown_actor(self, row: AuditRow) -> SafeString:
        """Who did it and, where it is another, the agent in whose run; each leads to what else was done."""
        actor = self._leading(row, "actor")
        if not row.agent or row.actor == f"agent:{row.agent}":
            return actor
        return format_html(
            '{} <span class="liy-line liy-muted">run of {}</span>',
            actor,
            self._leading(row, "agent"),
        )

    @admin.display(description="mission")
    def shown_mission(self, row: AuditRow) -> SafeString:
        """The mission where somebody named one; leads to what was done for it."""
        if row.is_confidential:
            return pill("confidential", QUIET)
        is_ours = row.mission in {str(row.correlation_id), row.request_id, ""} or (
            not row.request_id and is_uuid(row.mission)
        )
        return format_html("{}", "-") if is_ours else self._leading(row, "mission")

    @admin.display(description="request")
    def shown_request(self, row: AuditRow) -> SafeString:
        """The request that did it, and from where."""
        if row.is_confidential:
            return pill("confidential", QUIET)
        return format_html(
            '<span class="liy-mono">{}</span> <span class="liy-age">{}</span>',
            cell(row.request_id),
            f"from {cell(row.address)}" if row.address else "",
        )

    def _leading(self, row: AuditRow, name: str) -> SafeString:
        value = str(getattr(row, name))
        if not value:
            return format_html("{}", "-")
        address = f"{self.list_address()}?{urlencode({name: value})}"
        return format_html('<a class="liy-link" href="{}">{}</a>', address, cell(value))

    @admin.display(description="run")
    def run(self, row: AuditRow) -> SafeString:
        """Lead to the run."""
        if row.run_id is None:
            return format_html("{}", "-")
        address = reverse("admin:runs_run_change", args=[row.run_id])
        return format_html('<a class="liy-link liy-mono" href="{}">{}</a>', address, row.run_id)

    @admin.display(description="detail")
    def short_detail(self, row: AuditRow) -> SafeString:
        """The beginning of the detail, of each digest too: in full it stands on the row's own page."""
        short: Mapping[str, Any] | None = row.short  # type: ignore[attr-defined]  # of the list's query
        text = LONG if short is None else DIGEST.sub(r"\1…", "\n".join(lines_of(short)))
        cut = text if len(text) <= LONGEST_DETAIL else f"{text[:LONGEST_DETAIL]}…"
        return format_html('<div class="liy-words">{}</div>', cut or "-")

    @admin.display(description="detail")
    def shown_detail(self, row: AuditRow) -> SafeString:
        """The detail, a hundred thousand characters of it at the most."""
        text = "\n".join(lines_of(row.detail))
        cut = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
        return format_html('<div class="liy-words">{}</div>', cut or "-")


def _looked_for(term: str) -> dict[str, str]:
    """Take a term for what it can be: the first stamp that has it as a value, else an action."""
    if not term:
        return {}
    if is_uuid(term):
        return {"run": term}
    stamps = ("mission", "actor", "agent")
    there = (it for it in stamps if AuditRow.objects.filter(**{it: term}).exists())
    return {next(there, "action"): term}


def is_uuid(text: str) -> bool:
    """Whether a text is an id such as ours."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True


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
