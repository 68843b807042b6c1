"""Addresses of workflows, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.workflows.api import (
    WorkflowList,
    WorkflowOne,
    WorkflowSchema,
    WorkflowValidate,
    WorkflowVersionOne,
    WorkflowVersions,
)
from liyagent.workflows.runs_api import RunSignals, WorkflowRuns

urlpatterns = [
    path("workflows", WorkflowList.as_view(), name="workflow-list"),
    path("workflows/schema", WorkflowSchema.as_view(), name="workflow-schema"),
    path("workflows/validate", WorkflowValidate.as_view(), name="workflow-validate"),
    path("workflows/<slug:key>", WorkflowOne.as_view(), name="workflow-one"),
    path("workflows/<slug:key>/runs", WorkflowRuns.as_view(), name="workflow-run-start"),
    path("runs/<uuid:run_id>/signals", RunSignals.as_view(), name="run-signals"),
    path("workflows/<slug:key>/versions", WorkflowVersions.as_view(), name="workflow-versions"),
    path(
        "workflows/<slug:key>/versions/<int:number>",
        WorkflowVersionOne.as_view(),
        name="workflow-version",
    ),
]
