"""A tool that is no longer what an operator approved is held (ruling 21)."""

from __future__ import annotations

from liyagent.gateway.outcome import Call, Posture, Verdict
from liyagent.gateway.policies import PolicySet


def judge(call: Call, policy: PolicySet) -> Verdict | None:
    """Hold a call of a tool whose schema or description differs from the approved one."""
    if call.contract is None or not call.contract.changed_since_approved:
        return None
    reason = (
        f"Held (contract change): the schema or description of {call.name} is not the one that was approved; "
        f"an operator looks at it and runs `manage.py tools approve {call.name}`."
    )
    return Verdict(call=call, posture=Posture.HELD, gate="contract_change", reason=reason)
