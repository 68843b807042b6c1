"""Decide about a request: one conditional update, whoever comes first (ruling 23)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from liyagent.approvals.errors import (
    AlreadyDecided,
    ApprovalExpired,
    ApprovalNotFound,
    OtherDigest,
    OwnRequest,
)
from liyagent.approvals.handlers import HANDLERS
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from liyagent.core.plain import clean_text

LONGEST_REASON = 500
ACTIONS = {
    ApprovalStatus.APPROVED: "agent.approval.approved",
    ApprovalStatus.REJECTED: "agent.approval.rejected",
    ApprovalStatus.WITHDRAWN: "agent.approval.withdrawn",
    ApprovalStatus.EXPIRED: "agent.approval.expired",
}
NOBODY = "system"


def decide(
    *, approval_id: UUID, status: ApprovalStatus, actor: str, reason: str, digest: str
) -> Approval:
    """Approve, reject or withdraw a request that is open, and wake its run in the same commit.

    `digest` is the one that the decider was shown. Raises `ApprovalNotFound`, `AlreadyDecided` (which says who and what),
    `ApprovalExpired`, `OtherDigest`, `OwnRequest`, `BadInput` for a reason that is empty, too long or cannot be shown.
    """
    reason = _checked(reason)
    if not digest:
        raise BadInput("digest is missing; it wants that of the request as it was shown")
    return _decided(approval_id, status, actor=actor, reason=reason, digest=digest)


def expire(approval_id: UUID) -> Approval:
    """Let a request whose time has passed expire. Raises `AlreadyDecided` where somebody was first."""
    return _decided(
        approval_id,
        ApprovalStatus.EXPIRED,
        actor=NOBODY,
        reason="nobody decided in time",
        digest="",
    )


def expire_due(*, limit: int = 200) -> int:
    """Let each request whose time has passed expire, and return how many did."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT approval FROM liyagent_expired_approvals(%s)", [limit])
        due = [row[0] for row in cursor.fetchall()]
    count = 0
    for approval_id in due:
        try:
            expire(approval_id)
        except AlreadyDecided:
            continue
        count += 1
    return count


def _checked(reason: str) -> str:
    cleaned = clean_text(reason).strip()
    if not 0 < len(cleaned) <= LONGEST_REASON:
        raise BadInput(f"reason wants 1 to {LONGEST_REASON} characters: why it is decided so")
    if not cleaned.isprintable():
        raise BadInput("reason has control characters; it wants one line of text")
    return cleaned


def _decided(
    approval_id: UUID, status: ApprovalStatus, *, actor: str, reason: str, digest: str
) -> Approval:
    with transaction.atomic(durable=True):
        approval = Approval.objects.filter(id=approval_id).first()
        if approval is None:
            raise ApprovalNotFound(approval=approval_id)
        _refuse_own(approval, status, actor)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT run FROM liyagent_decide(%s, %s, %s, %s, %s)",
                [approval_id, status.value, actor, reason, digest],
            )
            is_decided = cursor.fetchone() is not None
        approval.refresh_from_db()
        if not is_decided:
            # Raised inside the transaction: the wake that came before is undone with it.
            raise _why_not(approval, status, digest)
        record(
            ACTIONS[status],
            actor=actor,
            mission=approval.mission,
            correlation_id=approval.correlation_id,
            run_id=approval.run_id,
            detail=_facts(approval, reason),
        )
        handler = HANDLERS.get(approval.kind)
        if handler is not None:
            handler(approval)
    return approval


def _refuse_own(approval: Approval, status: ApprovalStatus, actor: str) -> None:
    """Whoever asked may withdraw, and decides only where the setting lets them."""
    is_own = bool(actor) and actor in {approval.requested_by, approval.run_as}
    if is_own and status is ApprovalStatus.APPROVED and not settings.LIYAGENT.approve_own_requests:
        raise OwnRequest(
            f"{actor} asked for it, or it runs as {actor}; somebody else has to approve it",
            approval=approval.id,
        )


def _why_not(approval: Approval, status: ApprovalStatus, digest: str) -> Exception:
    if approval.status != ApprovalStatus.PENDING:
        by = f" by {approval.decided_by}" if approval.decided_by else ""
        return AlreadyDecided(f"it is {approval.status}{by}", approval=approval.id)
    if digest and approval.digest != digest:
        return OtherDigest(approval=approval.id)
    if status is ApprovalStatus.EXPIRED:
        return AlreadyDecided("its time has not passed yet", approval=approval.id)
    return ApprovalExpired(
        f"it expired at {approval.expires_at:%Y-%m-%d %H:%M:%S} UTC", approval=approval.id
    )


def _facts(approval: Approval, reason: str) -> dict[str, Any]:
    return {
        "approval": str(approval.id),
        "call": approval.name,
        "step": approval.step,
        "index": approval.index,
        "digest": approval.digest,
        "policy": approval.policy_fingerprint,
        "ceiling": approval.ceiling_digest,
        "run_as": approval.run_as,
        "reason": reason,
    }
