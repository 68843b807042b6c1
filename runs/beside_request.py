"""What is told of its run beside a request: how the run stands, and which writes before it nobody knows of."""

from __future__ import annotations

from typing import Any

from liyagent.approvals.models import Approval
from runs.models import Run
from runs.unknown import unknown_calls

MOST_UNKNOWN = 50
FACTS = ("run_id", "step", "index", "server", "tool", "step_key", "marked_at", "late_finding")


def beside_request(approval: Approval) -> dict[str, Any]:
    """Return `run_status`, and `unknown_calls`, newest first, of the run and its kin (ruling 8), at most 50."""
    statuses = Run.objects.filter(id=approval.run_id).values_list("status", flat=True)
    unknown = unknown_calls().filter(
        correlation_id=approval.correlation_id, marked_at__lt=approval.created_at
    )
    return {
        "run_status": statuses.first() or "",
        "unknown_calls": list(unknown.order_by("-id").values(*FACTS)[:MOST_UNKNOWN]),
    }
