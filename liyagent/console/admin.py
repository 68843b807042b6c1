"""What a page of a lower room shows of a higher one: the room itself does not know of it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.access.permissions import OPERATE, VIEW_AGENT, VIEW_RUN
from liyagent.agents.admin import AgentAdmin
from liyagent.agents.models import Agent, Recording
from liyagent.approvals.models import Approval
from liyagent.console.request_page import RequestWithRunAdmin
from liyagent.console.run_page import RunWithStepsAdmin
from liyagent.core.moments import when
from liyagent.replays.try_page import may_ask
from liyagent.workflows.api import VIEW as VIEW_WORKFLOW
from runs.models import Run

admin.site.unregister((Agent, Approval, Run))
admin.site.register(Approval, RequestWithRunAdmin)
admin.site.register(Run, RunWithStepsAdmin)


@admin.register(Agent)
class AgentWithRunsAdmin(AgentAdmin):
    """Agents, with when each was run last."""

    list_display = (*AgentAdmin.list_display, "last_run")
    change_form_outer_before_template = "admin/agents/agent/around.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Bring the newest run along: one look into the index of runs by agent for each row."""
        newest = Run.objects.filter(agent_key=OuterRef("key")).order_by("-created_at")
        rows: QuerySet[Any] = super().get_queryset(request)
        found: QuerySet[Any] = rows.annotate(ran_at=Subquery(newest.values("created_at")[:1]))
        return found

    @admin.display(description="last run")
    def last_run(self, agent: Any) -> SafeString:
        """When it was started last; leads to its runs, and to what of them can be undone."""
        if agent.ran_at is None:
            return format_html("{}", "never")
        runs, sagas = (
            f"{reverse(it)}?agent_key={agent.key}"
            for it in ("admin:runs_run_changelist", "admin:sagas_saga_changelist")
        )
        return format_html(
            '<span>{} <a class="liy-link" href="{}">its runs</a>, <a class="liy-link" href="{}">sagas</a></span>',
            when(agent.ran_at),
            runs,
            sagas,
        )

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show above the form what belongs to the agent."""
        agent = self.get_object(request, object_id)
        around = around_agent(request, agent) if agent is not None else []
        shown: HttpResponse = super().change_view(
            request, object_id, form_url, {"around": around, **(extra_context or {})}
        )
        return shown


def around_agent(request: HttpRequest, agent: Agent) -> list[tuple[str, str]]:
    """Return addresses of what belongs to an agent, each with its name, as far as the user may follow."""
    user, found = request.user, []
    if user.has_perm(VIEW_RUN):
        asked = urlencode({"agent_key": agent.key})
        found.append((f"{reverse('admin:runs_run_changelist')}?{asked}", "Its runs"))
        found.append((f"{reverse('admin:sagas_saga_changelist')}?{asked}", "Its sagas: what can be undone of them"))  # fmt: skip
    if user.has_perm(VIEW_WORKFLOW):
        address = reverse("admin:workflows_workflow_changelist")
        found.append((f"{address}?{urlencode({'q': agent.key})}", "Its workflows"))
    if may_ask(request) and agent.recording == Recording.FULL:
        address = reverse("admin:replays_cohortreplay_try")
        found.append((f"{address}?{urlencode({'agent': agent.key})}", "Try another model on past runs"))  # fmt: skip
    if user.has_perm(VIEW_AGENT):
        address = reverse("admin:routines_routine_changelist")
        found.append((f"{address}?{urlencode({'q': agent.key})}", "Its routines: what it does the same way every time"))  # fmt: skip
    if user.has_perm(OPERATE):
        address = reverse("admin:replays_cohortreplay_changelist")
        found.append((f"{address}?{urlencode({'q': agent.key})}", "Its cohort replays"))
    return found
