"""Work is handed down three deep at most, and never to an agent that is at it already."""

from __future__ import annotations

from liyagent.gateway.outcome import Call, Posture, Verdict
from liyagent.gateway.policies import PolicySet

MOST_DEEP = 3


def judge(call: Call, policy: PolicySet) -> Verdict | None:
    """Refuse to hand work to an agent that it came down from, to the agent itself, and further down than three.

    A step of a workflow hands it to its own agent; whoever was handed it so is at it, and may not hand it back.
    """
    if call.contract is None or not call.contract.is_delegation:
        return None
    chain = (*call.asker.delegated_by, call.asker.agent)
    if call.tool in chain and not call.is_own_work:
        reason = f"agent {call.tool} is already at it: {' > '.join((*chain, call.tool))} would be a circle"
    elif len(chain) >= MOST_DEEP:
        reason = f"work is handed down {MOST_DEEP} deep at most: {' > '.join(chain)} is that deep"
    else:
        return None
    told = f"Refused (delegation): {reason}."
    return Verdict(call=call, posture=Posture.REFUSED, gate="delegation", reason=told)
