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

urlpatterns = [
    path("workflows", WorkflowList.as_view(), name="workflow-list"),
    path("workflows/schema", WorkflowSchema.as_view(), name="workflow-schema"),
    path("workflows/validate", WorkflowValidate.as_view(), name="workflow-validate"),
    path("workflows/<slug:key>", WorkflowOne.as_view(), name="workflow-one"),
    path("workflows/<slug:key>/versions", WorkflowVersions.as_view(), name="workflow-versions"),
    path(
        "workflows/<slug:key>/versions/<int:number>",
        WorkflowVersionOne.as_view(),
        name="workflow-version",
    ),
]
