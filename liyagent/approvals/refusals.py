"""Why a decision changed nothing: told from the request as it stands."""

from __future__ import annotations

from liyagent.approvals.errors import (
    AlreadyDecided,
    ApprovalExpired,
    OtherDigest,
    RunIsOver,
)
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.core.errors import LiyagentError

# Where an approved request goes on to; who approved it stays with it.
AFTER_APPROVAL = (ApprovalStatus.APPROVED, ApprovalStatus.CONSUMED, ApprovalStatus.STALE)


def why_not(approval: Approval, status: ApprovalStatus, digest: str) -> LiyagentError:
    """Return the error for a decision that did not fit the request."""
    facts = {
        "approval": approval.id,
        "status": approval.status,
        **({"decided_by": approval.decided_by} if approval.decided_by else {}),
    }
    if approval.status == ApprovalStatus.EXPIRED:
        return ApprovalExpired(_expired_at(approval), **facts)
    if approval.status == ApprovalStatus.WITHDRAWN and not approval.decided_by:
        return RunIsOver(approval.settled_reason, **facts)
    if approval.status != ApprovalStatus.PENDING:
        return AlreadyDecided(_settled(approval), **facts)
    if digest and approval.digest != digest:
        return OtherDigest(approval=approval.id)
    if status is ApprovalStatus.EXPIRED:
        return AlreadyDecided("its time has not passed yet", **facts)
    return ApprovalExpired(_expired_at(approval), **facts)


def is_replay(
    approval: Approval, status: ApprovalStatus, *, actor: str, reason: str, digest: str
) -> bool:
    """Whether that very decision is what was decided: by the same person, for the same reason, of what was shown."""
    settled = decision_of(approval)
    return (
        settled is status
        and (approval.decided_by, approval.decision_reason) == (actor, reason)
        and digest in {"", approval.digest}
    )


def decision_of(approval: Approval) -> ApprovalStatus | None:
    """Return what a person decided, None where nobody did: the status may have gone on since."""
    if not approval.decided_by:
        return None
    if approval.status in AFTER_APPROVAL:
        return ApprovalStatus.APPROVED
    return ApprovalStatus(approval.status)


def _settled(approval: Approval) -> str:
    decision = decision_of(approval)
    if decision is None:
        return f"it is {approval.status}: {approval.settled_reason}"
    told = (
        f"{approval.decided_by} {decision.value} it at {approval.decided_at:%Y-%m-%d %H:%M:%S} UTC"
    )
    if approval.status == ApprovalStatus.STALE:
        return f"{told}; since then it is stale: {approval.settled_reason}"
    return f"{told}; the call is on its way, or was made" if approval.consumed_at else told


def _expired_at(approval: Approval) -> str:
    return f"it expired at {approval.expires_at:%Y-%m-%d %H:%M:%S} UTC"
