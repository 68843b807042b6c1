"""The words of a request, opened and held against its digest: what a person decides about is what will be sent."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from liyagent.approvals.digests import digest_of
from liyagent.approvals.errors import NotAsFiled
from liyagent.approvals.models import Approval
from liyagent.core.canonical import digest
from liyagent.core.seal import KeyMissing, Keyring, SealBroken

# As `runs` seals them when it files the request; a format of its own, that no checkpoint's change makes unreadable.
WORDS = "approval"
FORMAT = 1


def arguments_of(approval: Approval) -> dict[str, Any]:
    """Return exactly the arguments that are to be sent, our own key aside.

    Raises `KeyMissing`, `SealBroken`; `NotAsFiled` where the row shows another call or ceiling than its digests cover.
    """
    try:
        sealer = Keyring(settings.LIYAGENT.seal_keys).sealer(
            key_id=approval.key_id, run_id=approval.id, format_number=FORMAT
        )
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
