"""What a page of a lower room shows of a higher one: the room itself does not know of it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.agents.admin import AgentAdmin
from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.console.request_page import RequestWithRunAdmin
from liyagent.console.run_page import RunWithStepsAdmin
from liyagent.core.moments import when
from runs.models import Run

admin.site.unregister((Agent, Approval, Run))
admin.site.register(Approval, RequestWithRunAdmin)
admin.site.register(Run, RunWithStepsAdmin)


@admin.register(Agent)
class AgentWithRunsAdmin(AgentAdmin):
    """Agents, with when each was run last."""

    list_display = (*AgentAdmin.list_display, "last_run")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Bring the newest run along: one look into the index of runs by agent for each row."""
        newest = Run.objects.filter(agent_key=OuterRef("key")).order_by("-created_at")
        rows: QuerySet[Any] = super().get_queryset(request)
        found: QuerySet[Any] = rows.annotate(ran_at=Subquery(newest.values("created_at")[:1]))
        return found

    @admin.display(description="last run")
    def last_run(self, agent: Any) -> SafeString:
        """When it was started last; leads to its runs."""
        if agent.ran_at is None:
            return format_html("{}", "never")
        address = reverse("admin:runs_run_changelist")
        return format_html(
            '{} <a class="liy-link" href="{}?agent_key={}">its runs</a>',
            when(agent.ran_at),
            address,
            agent.key,
        )
