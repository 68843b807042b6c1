"""Audit what became of a delivery, with what came in for it."""

from __future__ import annotations

from typing import Any

from liyagent.audit.record import record
from liyagent.core.transactions import require_transaction
from liyagent.entry.models import Arrival, Delivery
from liyagent.entry.stamp import stamp_of_what_came


def record_delivery(action: str, delivery: Delivery, *, actor: str, why: str, **more: Any) -> None:
    """Add the audit row of a delivery in the caller's transaction: its way, its kind, its source, its agent and the reason."""
    require_transaction("auditing a delivery")
    arrival = Arrival.objects.filter(run_id=delivery.run_id).defer("sealed").first()
    about = {} if arrival is None else {"source": arrival.source, "agent": arrival.agent_key}
    detail = {
        "delivery": delivery.id,
        "way": delivery.way,
        "kind": delivery.kind,
        **about,
        "attempts": delivery.attempts,
        "why": why[:500],
        **more,
    }
    stamp = stamp_of_what_came(delivery.run_id)
    record(
        action,
        actor=actor,
        mission=stamp.mission,
        correlation_id=stamp.correlation_id,
        run_id=delivery.run_id,
        request_id=stamp.request_id,
        detail=detail,
    )
