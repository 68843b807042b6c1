"""The words of a request, opened and held against its digest: what a person decides about is what will be sent."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from django.conf import settings

from liyagent.approvals.digests import digest_of
from liyagent.approvals.errors import NotAsFiled
from liyagent.approvals.models import Approval
from liyagent.core.canonical import digest
from liyagent.core.seal import KeyMissing, Keyring, SealBroken, Sealer

# As `runs` seals them when it files the request; a format of its own, that no checkpoint's change makes unreadable.
WORDS = "approval"
FORMAT = 1


def arguments_of(approval: Approval) -> dict[str, Any]:
    """Return exactly the arguments that are to be sent, our own key aside.

    Raises `KeyMissing`, `SealBroken`; `NotAsFiled` where the row shows another call or ceiling than its digests cover.
    """
    try:
        sealer = _sealer(approval)
    except KeyMissing:
        told = f"its arguments are sealed with the key {approval.key_id!r}, which is not here"
        raise KeyMissing(told, approval=approval.id) from None
    try:
        args: dict[str, Any] = sealer.open(approval.sealed, kind=WORDS, number=0)["args"]
    except SealBroken:
        told = "its arguments do not verify against their seal"
        raise SealBroken(told, approval=approval.id) from None
    _check_digests(approval, args)
    return args


def with_decision(approval: Approval, *, timeline: int) -> bytes:
    """Return the words of a request sealed anew, together with who approved it when, and on which of the server's timelines.

    Raises as `arguments_of`.
    """
    decision = {**_decided(approval), "timeline": timeline}
    words = {"args": arguments_of(approval), "decision": decision}
    return _sealer(approval).seal(words, kind=WORDS, number=0)


def timeline_of(approval: Approval) -> int | None:
    """Return the timeline on which a request was approved; None where no process of ours approved it as its row says.

    Raises `KeyMissing`.
    """
    try:
        words = _sealer(approval).open(approval.sealed, kind=WORDS, number=0)
    except SealBroken:
        return None
    decision: dict[str, Any] = dict(words.get("decision", {}))
    timeline: int | None = decision.pop("timeline", None)
    return timeline if decision == _decided(approval) else None


def _decided(approval: Approval) -> dict[str, Any]:
    decided_at = approval.decided_at.astimezone(UTC).isoformat() if approval.decided_at else ""
    return {
        "by": approval.decided_by,
        "at": decided_at,
        "until": approval.expires_at.astimezone(UTC).isoformat(),
        "digest": approval.digest,
        "ceiling": approval.ceiling_digest,
        "gate": approval.gate,
    }


def _sealer(approval: Approval) -> Sealer:
    ring = Keyring(settings.LIYAGENT.seal_keys)
    return ring.sealer(key_id=approval.key_id, run_id=approval.id, format_number=FORMAT)


def _check_digests(approval: Approval, args: dict[str, Any]) -> None:
    covered = digest_of(
        server=approval.server,
        tool=approval.tool,
        args=args,
        agent=approval.agent_key,
        run_as=approval.run_as,
        policy_fingerprint=approval.policy_fingerprint,
    )
    if covered != approval.digest:
        raise NotAsFiled("its digest covers another call than it shows", approval=approval.id)
    if digest(approval.ceiling) != approval.ceiling_digest:
        raise NotAsFiled("its ceiling is not the one that was filed", approval=approval.id)
