"""Addresses of the audit log and of confidential concerns, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.access.audit_api import (
    AuditExport,
    AuditLog,
    ConcernClose,
    ConcernList,
    ConcernOne,
)

urlpatterns = [
    path("audit", AuditLog.as_view(), name="audit-log"),
    path("audit/export", AuditExport.as_view(), name="audit-export"),
    path("concerns", ConcernList.as_view(), name="concern-list"),
    path("concerns/<int:concern_id>", ConcernOne.as_view(), name="concern-one"),
    path("concerns/<int:concern_id>/close", ConcernClose.as_view(), name="concern-close"),
]
