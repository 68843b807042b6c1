"""Decide about a request: one conditional update, whoever comes first (ruling 23)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

from events.keys import tagger_of
from liyagent.approvals.errors import (
    AlreadyDecided,
    ApprovalExpired,
    ApprovalNotFound,
    KindUnknown,
    NotYours,
    OwnRequest,
    RunIsOver,
)
from liyagent.approvals.handlers import HANDLERS
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.reason import checked_reason
from liyagent.approvals.refusals import is_replay, why_not
from liyagent.approvals.words import arguments_of, with_decision
from liyagent.audit.record import record
from liyagent.core.canonical import canonical
from liyagent.core.errors import BadInput

ACTIONS = {
    ApprovalStatus.APPROVED: "agent.approval.approved",
    ApprovalStatus.REJECTED: "agent.approval.rejected",
    ApprovalStatus.WITHDRAWN: "agent.approval.withdrawn",
    ApprovalStatus.EXPIRED: "agent.approval.expired",
}
NOBODY = "system"
DECIDED = "approval.decided"
TOLD = ("approval", "step", "index", "digest", "policy", "ceiling", "run_as")


def decide(
    *,
    approval_id: UUID,
    status: ApprovalStatus,
    actor: str,
    reason: str,
    digest: str,
    typed_by: str = "",
) -> Approval:
    """Approve, reject or withdraw a request that is open, and wake its run in the same commit.

    `digest` is the one that the decider was shown; to withdraw wants none. `actor` is the user who decides, `typed_by`
    who typed it for them at the shell. The very same decision of the same person, made again, returns what is settled
    and changes nothing (FL-53). Raises `ApprovalNotFound`, `AlreadyDecided` (which says who and what), `RunIsOver`,
    `ApprovalExpired`, `OtherDigest`, `OwnRequest`, `BadReason`; `KeyMissing`, `SealBroken` or `NotAsFiled` where nobody
    can have seen what it is about: such a request can only be withdrawn.
    """
    reason = checked_reason(reason)
    if not digest and status is not ApprovalStatus.WITHDRAWN:
        raise BadInput("digest is missing; it wants that of the request as it was shown")
    approval = find_approval(approval_id)
    if approval.status == ApprovalStatus.PENDING and status is not ApprovalStatus.WITHDRAWN:
        arguments_of(approval)
    try:
        return _decided(
            approval_id, status, actor=actor, reason=reason, digest=digest, typed_by=typed_by
        )
    except AlreadyDecided:
        settled = find_approval(approval_id)
        if is_replay(settled, status, actor=actor, reason=reason, digest=digest):
            return settled
        raise


def withdraw(
    *, approval_id: UUID, actor: str, reason: str, may_decide: bool, typed_by: str = ""
) -> Approval:
    """Take a request back, as who asked for it or as one who `may_decide`.

    Raises as `decide`; `NotYours` for anybody else, whether there is such a request or not.
    """
    if not may_decide:
        asked = Approval.objects.filter(id=approval_id).values_list("requested_by", flat=True)
        if not actor or asked.first() != actor:
            raise NotYours
    return decide(
        approval_id=approval_id,
        status=ApprovalStatus.WITHDRAWN,
        actor=actor,
        reason=reason,
        digest="",
        typed_by=typed_by,
    )


def expire(approval_id: UUID) -> Approval:
    """Let a request whose time has passed expire.

    Raises `AlreadyDecided`, `ApprovalExpired` or `RunIsOver` where somebody was first.
    """
    return _decided(
        approval_id,
        ApprovalStatus.EXPIRED,
        actor=NOBODY,
        reason="nobody decided in time",
        digest="",
    )


def expire_due(*, limit: int = 200) -> int:
    """Let each request whose time has passed expire, and return how many did; one whose run is in use waits its turn."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT approval FROM liyagent_expired_approvals(%s)", [limit])
        due = [row[0] for row in cursor.fetchall()]
    count = 0
    for approval_id in due:
        try:
            expire(approval_id)
        except (AlreadyDecided, ApprovalExpired, RunIsOver, KindUnknown):
            continue
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable):
                raise
            continue
        count += 1
    return count


def find_approval(approval_id: UUID) -> Approval:
    """Return a request. Raises `ApprovalNotFound`."""
    approval = Approval.objects.filter(id=approval_id).first()
    if approval is None:
        raise ApprovalNotFound(approval_id)
    return approval


def _decided(
    approval_id: UUID,
    status: ApprovalStatus,
    *,
    actor: str,
    reason: str,
    digest: str,
    typed_by: str = "",
) -> Approval:
    with transaction.atomic(durable=True):
        approval = find_approval(approval_id)
        if approval.kind not in HANDLERS:
            raise KindUnknown(f"its kind is {approval.kind}", approval=approval.id)
        keeps_events = settings.LIYAGENT.run_events_enabled
        with connection.cursor() as cursor:
            if status is ApprovalStatus.EXPIRED:
                # The leader's tick: who holds a head for long, holds up nobody else's recovery.
                cursor.execute("SET LOCAL lock_timeout = '100ms'")
            cursor.execute(
                "SELECT run FROM liyagent_decide(%s, %s, %s, %s, %s, %s, false, %s)",
                [
                    *(approval_id, status.value, actor, reason, digest),
                    *(keeps_events, _told(approval, status, actor)),
                ],
            )
            is_decided = cursor.fetchone() is not None
        approval.refresh_from_db()
        if not is_decided:
            # Raised inside the transaction: the wake that came before is undone with it.
            raise why_not(approval, status, digest)
        _refuse_own(approval, status, actor)
        if status is ApprovalStatus.APPROVED:
            _seal_decision(approval)
        record(
            ACTIONS[status],
            actor=typed_by or actor,
            mission=approval.mission,
            correlation_id=approval.correlation_id,
            run_id=approval.run_id,
            detail=_facts(approval, reason),
        )
        HANDLERS[approval.kind](approval)
    return approval


def _told(approval: Approval, status: ApprovalStatus, actor: str) -> str:
    """What `approval.decided` tells of a person's decision, tagged; what nobody decided is told by the database."""
    if status is ApprovalStatus.EXPIRED:
        return ""
    facts = _facts(approval, "")
    told = {name: facts[name] for name in TOLD} | {
        "server": approval.server,
        "tool": approval.tool,
        "by": actor,
        "decision": status.value,
    }
    tagger = tagger_of(
        correlation_id=approval.correlation_id, run_id=approval.run_id, mission=approval.mission
    )
    return tagger.line(DECIDED, canonical(told).decode())


def _seal_decision(approval: Approval) -> None:
    """Keep with its words who approved it: whoever can write to the table alone approves nothing."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT liyagent_timeline()")
        approval.sealed = with_decision(approval, timeline=cursor.fetchone()[0])
    approval.save(update_fields=["sealed"])


def _refuse_own(approval: Approval, status: ApprovalStatus, actor: str) -> None:
    """Whoever asked may reject and withdraw, and approves only where the setting lets them."""
    is_own = bool(actor) and actor in {approval.requested_by, approval.run_as}
    if is_own and status is ApprovalStatus.APPROVED and not settings.LIYAGENT.approve_own_requests:
        raise OwnRequest(
            f"{actor} asked for it, or it runs as {actor}; somebody else has to approve it",
            approval=approval.id,
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
        "by": approval.decided_by,
        "reason": reason,
    }
