"""Runs as the console shows them: those of workflows with their steps, which the room of runs does not know."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from liyagent.access.permissions import READ_WORDS
from liyagent.workflows.api import VIEW as VIEW_WORKFLOW
from liyagent.workflows.models import Workflow
from liyagent.workflows.run_steps import steps_of
from runs.admin import RunAdmin
from runs.models import Run


class RunWithStepsAdmin(RunAdmin):
    """Runs, with what came of the steps of a workflow."""

    def beside(self, request: HttpRequest, run: Run) -> dict[str, Any]:
        """Return the steps with their picture, and where the workflow is, for those who may see workflows."""
        if not run.workflow or not request.user.has_perm(VIEW_WORKFLOW):
            return {}
        key = Workflow.objects.filter(key=run.workflow).values_list("pk", flat=True).first()
        return {
            "flow": steps_of(run, with_words=request.user.has_perm(READ_WORDS)),
            "flow_link": reverse("admin:workflows_workflow_change", args=[key]) if key else "",
        }
