"""What a mission's timeline tells of requests that wait, or waited, for a person."""

from __future__ import annotations

from django.urls import reverse

from liyagent.access.permissions import VIEW_APPROVAL
from liyagent.approvals.models import Approval
from missions.places import behind, place_of, read_place
from missions.timeline import Entry, Source, register

FACTS = (
    "id", "kind", "status", "run_id", "step", "index", "agent_key", "requested_by", "run_as", "server", "tool", "gate",
    "digest", "created_at", "expires_at", "decided_at", "decided_by", "settled_at", "consumed_at",
)  # fmt: skip


def approvals_of(mission: str, before: str, limit: int) -> list[Entry]:
    """Return the requests of a mission by when they were filed: an entry each, with how it stands now."""
    rows = Approval.objects.filter(mission=mission).only(*FACTS).order_by("-created_at", "-id")
    if before:
        at, last_id = read_place(before)
        rows = rows.filter(behind(at, last_id, moment="created_at"))
    return [_entry(it) for it in rows[:limit]]


def _entry(approval: Approval) -> Entry:
    by = f" by {approval.decided_by}" if approval.decided_by else ""
    return Entry(
        at=approval.created_at,
        place=place_of(approval.created_at, approval.id),
        kind="approval",
        told=f"a person was asked about {approval.name}; the request is {approval.status}{by}",
        by=approval.requested_by,
        run_id=approval.run_id,
        url=reverse("approval-one", args=[approval.id]),
        facts={
            "approval": str(approval.id),
            "name": approval.name,
            "kind": approval.kind,
            "status": approval.status,
            "agent": approval.agent_key,
            "step": approval.step,
            "index": approval.index,
            "run_as": approval.run_as,
            "gate": approval.gate,
            "digest": approval.digest,
            "expires_at": approval.expires_at,
            "decided_by": approval.decided_by,
            "decided_at": approval.decided_at,
            "consumed_at": approval.consumed_at,
            "settled_at": approval.settled_at,
        },
    )


register(Source(name="approvals", needs=VIEW_APPROVAL, entries=approvals_of))
