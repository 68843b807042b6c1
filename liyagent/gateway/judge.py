"""What the gates say of a call, asked in the order that is written here."""

from __future__ import annotations

from dataclasses import replace

from liyagent.gateway.gates import (
    allow_list,
    cedar,
    contract_change,
    data_policy,
    delegation,
    run_as,
    trust,
    write_posture,
)
from liyagent.gateway.outcome import Call, Posture, Verdict
from liyagent.gateway.policies import PolicySet

# Cedar judges the arguments as they were asked for; what data policies mask is judged by those below.
GATES = (
    trust.judge,
    allow_list.judge,
    delegation.judge,
    cedar.judge,
    run_as.judge,
    data_policy.judge,
    contract_change.judge,
    write_posture.judge,
)


def judge(call: Call, policy: PolicySet) -> Verdict:
    """Return the first refusal, else the first hold, else that the call may go, as data policies left it.

    A hold never hides a refusal of a later gate: nobody is asked to approve what would be refused. A call
    that was judged before is judged from its arguments as asked. Pure: no table is read.
    """
    left = as_asked(call)
    held = masked = None
    for gate in GATES:
        verdict = gate(left, policy)
        if verdict is None:
            continue
        if verdict.posture is Posture.REFUSED:
            return _under(policy, replace(verdict, call=data_policy.hidden(left, policy)))
        if verdict.posture is Posture.POSTURE:
            left, masked = verdict.call, verdict
        else:
            held = held or verdict
    said = held or masked or Verdict(call=left, posture=Posture.POSTURE)
    return _under(policy, replace(said, call=left))


def as_asked(call: Call) -> Call:
    """Return a call with the arguments as asked, whatever a data policy made of them."""
    return call if call.unmasked is None else replace(call, args=call.unmasked, unmasked=None)


def _under(policy: PolicySet, verdict: Verdict) -> Verdict:
    return replace(verdict, policy_fingerprint=policy.fingerprint)
