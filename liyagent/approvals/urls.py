"""Addresses of approvals, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.approvals.api import (
    ApprovalApprove,
    ApprovalList,
    ApprovalOne,
    ApprovalReject,
    ApprovalWithdraw,
)

ONE = "approvals/<uuid:approval_id>"
urlpatterns = [
    path("approvals", ApprovalList.as_view(), name="approval-list"),
    path(ONE, ApprovalOne.as_view(), name="approval-one"),
    path(f"{ONE}/approve", ApprovalApprove.as_view(), name="approval-approve"),
    path(f"{ONE}/reject", ApprovalReject.as_view(), name="approval-reject"),
    path(f"{ONE}/withdraw", ApprovalWithdraw.as_view(), name="approval-withdraw"),
]
