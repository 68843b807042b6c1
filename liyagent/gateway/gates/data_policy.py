"""Personal and other data that may not leave in a call's arguments: the call is refused, or leaves masked."""

from __future__ import annotations

from dataclasses import replace

from liyagent.core.bounded_regex import TooSlow
from liyagent.gateway.data_rules import DataRule, first_denied, masked
from liyagent.gateway.outcome import Call, Posture, Verdict
from liyagent.gateway.policies import PolicySet


def judge(call: Call, policy: PolicySet) -> Verdict | None:
    """Refuse what a policy denies, naming the policy and never the words; else mask what one masks.

    A denial is looked for in the arguments as asked, before anything is masked. What cannot be told in
    time, or by a policy that cannot be read, is refused.
    """
    rules = [rule for rule in policy.data if rule.covers(call.name)]
    if not rules:
        return None
    if unreadable := [rule for rule in rules if rule.fault]:
        return _refused(call, f"{unreadable[0].name} cannot be read: {unreadable[0].fault}")
    try:
        denying = first_denied(call.args, [rule for rule in rules if rule.denies])
        if denying is not None:
            return _refused(call, f"{denying.name} lets no {_kind(denying)} go to {call.name}")
        args, hits = masked(call.args, [rule for rule in rules if not rule.denies])
    except TooSlow:
        return _refused(call, "the arguments could not be searched in time; smaller ones may do")
    if not hits:
        return None
    return Verdict(
        call=replace(call, args=args, unmasked=call.args),
        posture=Posture.POSTURE,
        gate="data_policy",
        reason=f"Masked (data policy): {', '.join(hits)}.",
    )


def hidden(call: Call, policy: PolicySet) -> Call:
    """Return a refused call as it may be told of: what any policy looks for is masked, denied words too."""
    rules = [rule for rule in policy.data if rule.covers(call.name)]
    if not rules:
        return call
    try:
        args, hits = masked(call.args, [rule for rule in rules if not rule.fault])
    except TooSlow:
        return replace(call, args={}, unmasked=call.args)
    return replace(call, args=args, unmasked=call.args) if hits else call


def _kind(rule: DataRule) -> str:
    return "such words" if rule.kind == "regex" else {"iban": "IBAN"}.get(rule.kind, rule.kind)


def _refused(call: Call, reason: str) -> Verdict:
    told = f"Refused (data policy): {reason}."
    return Verdict(call=call, posture=Posture.REFUSED, gate="data_policy", reason=told)
