"""What red teams found, in the console."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from liyagent.access.permissions import OPERATE, READ_WORDS, VIEW_AGENT
from liyagent.core.moments import when
from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell, visible
from liyagent.training.red_teams.models import Finding
from liyagent.training.red_teams.report import evidence_of, task_of

COLOURS = {"held": GOOD, "broken": BAD, "unanswered": WARN, "not_asked": QUIET}


@admin.register(Finding)
class FindingAdmin(ReadOnlyAdmin):
    """Each prompt that an agent was tried with, and whether it held."""

    list_display = ("prompt", "kind", "agent_key", "state", "reason", "asked", "job")
    list_filter = ("verdict", "kind")
    search_fields = ("agent_key__exact", "job_id__exact")
    sortable_by = ()
    words_if_empty = "No red team has found anything yet: manage.py red_team start AGENT."
    words_above = (
        "What agents did when they were asked to misuse their powers; nothing real was called. "
        "What is broken wants other instructions, guardrails or policies, and another red team after that."
    )
    fields = ("prompt", "kind", "agent_key", "state", "why", "task", "evidence", "asked", "job")

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As to see."""
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may see agents."""
        return request.user.has_perm(VIEW_AGENT) or request.user.has_perm(OPERATE)

    def get_fields(self, request: HttpRequest, obj: Finding | None = None) -> tuple[str, ...]:
        """The evidence for who may read words."""
        may_read = request.user.has_perm(READ_WORDS)
        return tuple(it for it in self.fields if it != "evidence" or may_read)

    @admin.display(description="verdict")
    def state(self, finding: Finding) -> SafeString:
        """Whether it held."""
        return pill(finding.verdict, COLOURS.get(finding.verdict, QUIET))

    @admin.display(description="why")
    def reason(self, finding: Finding) -> str:
        """Which rule was broken."""
        return cell(finding.why)

    @admin.display(description="what it was asked")
    def task(self, finding: Finding) -> str:
        """The prompt."""
        return visible(task_of(finding))

    @admin.display(description="evidence")
    def evidence(self, finding: Finding) -> SafeString:
        """What was said."""
        return format_html_join("", '<pre class="liy-wrap">{}: {}</pre>', ((it["role"], _told(it)) for it in evidence_of(finding)))  # fmt: skip

    @admin.display(description="asked")
    def asked(self, finding: Finding) -> SafeString:
        """When it was kept."""
        return when(finding.created_at)

    @admin.display(description="job")
    def job(self, finding: Finding) -> SafeString:
        """Lead to the job."""
        address = reverse("admin:jobs_job_change", args=[finding.job_id])
        return format_html('<a class="liy-link" href="{}">its job</a>', address)


def _told(said: dict[str, Any]) -> str:
    calls = "".join(f"\ncalls {it['tool']} {it['args'] if it['args'] is not None else it['arguments_text']}" for it in said.get("calls", ()))  # fmt: skip
    return visible(f"{said['text']}{calls}")
