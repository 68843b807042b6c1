"""What happens to an agent's writes that the other gates let through."""

from __future__ import annotations

from liyagent.gateway.outcome import Call, Posture, Verdict
from liyagent.gateway.policies import PolicySet

ALLOW = "allow"
HOLD = "hold"


def judge(call: Call, policy: PolicySet) -> Verdict | None:
    """Let reads pass; hold or refuse writes as the agent's setting says, refusing where it says neither."""
    posture = call.asker.write_posture
    # Whoever takes over own work is bound by this very setting, in each of its writes.
    if not call.writes or posture == ALLOW or call.is_own_work:
        return None
    if posture == HOLD:
        reason = f"Held (write posture): writes of agent {call.asker.agent} wait for a person; {call.name} is one."
        return Verdict(call=call, posture=Posture.HELD, gate="write_posture", reason=reason)
    reason = f"Refused (write posture): agent {call.asker.agent} may read but not write; {call.name} is a write."
    return Verdict(call=call, posture=Posture.REFUSED, gate="write_posture", reason=reason)
