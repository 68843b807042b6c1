"""What is told of its run beside a request: how the run stands, and of which writes nobody knew as it was decided."""

from __future__ import annotations

from typing import Any

from liyagent.approvals.models import Approval
from runs.models import Run
from runs.unknown import unknown_calls

MOST_UNKNOWN = 50
FACTS = ("run_id", "step", "index", "server", "tool", "step_key", "marked_at", "late_finding")


def beside_request(approval: Approval) -> dict[str, Any]:
    """Return `run_status`, and `unknown_calls`, newest first, of the run and its kin (ruling 8), at most 50.

    Those of now while it is open, also what came to that after it was filed; later those from before its decision.
    """
    statuses = Run.objects.filter(id=approval.run_id).values_list("status", flat=True)
    unknown = unknown_calls().filter(correlation_id=approval.correlation_id)
    if approval.decided_at is not None:
        unknown = unknown.filter(marked_at__lt=approval.decided_at)
    return {
        "run_status": statuses.first() or "",
        "unknown_calls": list(unknown.order_by("-id").values(*FACTS)[:MOST_UNKNOWN]),
    }
