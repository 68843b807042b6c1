"""What the gates say of a call, asked in the order that is written here."""

from __future__ import annotations

from dataclasses import replace

from liyagent.gateway.gates import allow_list, cedar, contract_change, trust, write_posture
from liyagent.gateway.outcome import Call, Posture, Verdict
from liyagent.gateway.policies import PolicySet

GATES = (trust.judge, allow_list.judge, cedar.judge, contract_change.judge, write_posture.judge)


def judge(call: Call, policy: PolicySet) -> Verdict:
    """Return the first refusal, else the first hold, else that the call may go.

    A hold never hides a refusal of a later gate: nobody is asked to approve what would be refused.
    """
    held = None
    for gate in GATES:
        verdict = gate(call, policy)
        if verdict is not None and verdict.posture is Posture.REFUSED:
            return _under(policy, verdict)
        held = held or verdict
    return _under(policy, held or Verdict(call=call, posture=Posture.POSTURE))


def _under(policy: PolicySet, verdict: Verdict) -> Verdict:
    return replace(verdict, policy_fingerprint=policy.fingerprint)
