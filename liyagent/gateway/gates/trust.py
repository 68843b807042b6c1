"""Calls that cannot be trusted, and agents that are contained (ruling 20)."""

from __future__ import annotations

from liyagent.gateway.outcome import Call, Posture, Verdict
from liyagent.gateway.policies import PolicySet


def judge(call: Call, policy: PolicySet) -> Verdict | None:
    """Refuse a contained agent, arguments that cannot be trusted and a tool that does not exist."""
    reason = _refusal(call)
    if not reason:
        return None
    return Verdict(call=call, posture=Posture.REFUSED, gate="trust", reason=reason)


def _refusal(call: Call) -> str:
    if call.asker.contained:
        return f"Refused (trust: contained): agent {call.asker.agent} is contained, so it may call no tool."
    if call.problem:
        return f"Refused (trust: arguments): the call of {call.name} was not made: {call.problem}"
    if call.contract is None:
        return (
            f"Refused (trust: unknown tool): there is no tool {call.name}. "
            "Use only the tools offered, by their exact names."
        )
    return ""
