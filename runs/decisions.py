"""What people decided about the calls of runs: one set of words for the API, the console and the shell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.refusals import decision_of
from liyagent.gateway.outcome import Fate, Posture
from runs.models import Intent

# As a call is settled whatever answered it; what was never sent was answered by no server.
ANSWERED = "answered"
NOT_SENT = frozenset({Fate.REFUSED.value, Fate.HELD.value})
WORDS = ("sealed", "ceiling")


def requests_of(ids: Iterable[UUID | None]) -> Mapping[UUID, Approval]:
    """Return the requests with these ids, without what they would send."""
    asked = {it for it in ids if it is not None}
    return Approval.objects.defer(*WORDS).in_bulk(asked) if asked else {}


def decision_told(request: Approval) -> str:
    """Say where a request stands: whom it waits for, or who decided what and why.

    Of an approval no more is told than who gave it: what became of the call is its fate.
    """
    by, why = request.decided_by, request.decision_reason or request.settled_reason
    match ApprovalStatus(request.status):
        case ApprovalStatus.PENDING:
            return f"waits for approval {request.id}"
        case ApprovalStatus.APPROVED | ApprovalStatus.CONSUMED:
            return f"approved by {by}"
        case ApprovalStatus.REJECTED:
            return f"refused by {by}: {why}"
        case ApprovalStatus.EXPIRED:
            return _because("expired", why)
        case ApprovalStatus.WITHDRAWN:
            return _because(f"withdrawn by {by}" if by else "withdrawn", why)
        case ApprovalStatus.STALE:
            approved = f"approved by {by}, then " if decision_of(request) else ""
            return _because(f"{approved}stale", request.settled_reason)


def gate_told(*, fate: str, posture: str, gate: str) -> str:
    """Say which gate refused a call that no person was asked about, "" where none did."""
    if gate and fate == Fate.REFUSED and posture != Posture.HELD:
        return f"refused by the gate {gate}"
    return ""


def fate_told(*, fate: str, intent: str) -> str:
    """Return what became of a call; one that is held for a person, and not settled for that, is `held`."""
    return Fate.HELD.value if not fate and intent == Intent.HELD else fate


def settlement_told(*, fate: str, settlement: str) -> str:
    """Return how a call came to its fate, "" for one that was not sent and that therefore nobody answered."""
    return "" if fate in NOT_SENT and settlement == ANSWERED else settlement


def with_decision(call: dict[str, Any], requests: Mapping[UUID, Approval]) -> dict[str, Any]:
    """Return a marked call's facts with `decision` ("" where nobody was asked), its fate and settlement as told."""
    request = requests.get(call["approval_id"])
    fate = fate_told(fate=call["fate"], intent=call["intent"])
    return {
        **call,
        "fate": fate,
        "settlement": settlement_told(fate=fate, settlement=call["settlement"]),
        "decision": decision_told(request) if request else "",
    }


def _because(what: str, why: str) -> str:
    return f"{what}: {why}" if why else what
