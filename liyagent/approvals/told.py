"""All that somebody who decides has to know of a request, from this room and from the rooms above."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from liyagent.access.keys import DatabaseNow
from liyagent.approvals.errors import ApprovalNotFound
from liyagent.approvals.handlers import BESIDE
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.words import arguments_of

MOST_SAME = 20


def told_of(approval_id: UUID, *, with_words: bool) -> dict[str, Any]:
    """Return the request (`approval`), its age, what stands beside it, and with words its `arguments`.

    Raises `ApprovalNotFound`; with words `KeyMissing`, `SealBroken` and `NotAsFiled` (see `arguments_of`).
    """
    approval = Approval.objects.annotate(now=DatabaseNow()).filter(id=approval_id).first()
    if approval is None:
        raise ApprovalNotFound(approval_id)
    left = (approval.expires_at - approval.now).total_seconds()
    is_pending = approval.status == ApprovalStatus.PENDING
    beside = BESIDE.get(approval.kind)
    return {
        "approval": approval,
        "age_seconds": round((approval.now - approval.created_at).total_seconds()),
        "seconds_left": max(0, int(left)) if is_pending else None,
        "is_open": is_pending and left > 0,
        "replaced_by": replaced_by(approval),
        "same_digest": _same_digest(approval),
        **(beside(approval) if beside else {}),
        **({"arguments": arguments_of(approval)} if with_words else {}),
    }


def replaced_by(approval: Approval) -> UUID | None:
    """Return the request that was filed when this one went stale, None where there is none."""
    later = Approval.objects.filter(replaces=approval.id)
    return later.values_list("id", flat=True).first()


def _same_digest(approval: Approval) -> list[dict[str, Any]]:
    """The other requests of the very same call that wait: decided each on its own (ruling 23)."""
    same = Approval.objects.filter(digest=approval.digest, status=ApprovalStatus.PENDING)
    others = same.exclude(id=approval.id).order_by("created_at", "id")
    return [dict(it) for it in others.values("id", "run_id", "created_at")[:MOST_SAME]]
