"""Whether a request still stands on the policies that it was asked under, told before somebody decides about it."""

from __future__ import annotations

from liyagent.agents.models import ConfigVersion
from liyagent.approvals.handlers import CALL
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.gateway.active import active_policy

# What an approval can still lead to a call of.
NOT_MADE = frozenset({ApprovalStatus.PENDING, ApprovalStatus.APPROVED})


def policies_now() -> str:
    """Return the fingerprint of the policies in force: those that an approved call would be judged by."""
    version = ConfigVersion.objects.values_list("version", flat=True).get()
    return active_policy(version=version).fingerprint


def policies_changed(approval: Approval, *, now: str) -> bool:
    """Whether an approval would make no call, and the agent would ask anew: the policies are others since it was asked.

    Compares what is compared before an approved call is made (ruling 23); `now` is of `policies_now`. False for what was
    settled: of that nothing is made any more; and for what is no call, which no policy was asked about.
    """
    is_call = approval.kind == CALL
    return is_call and approval.status in NOT_MADE and approval.policy_fingerprint != now
