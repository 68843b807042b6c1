"""Whose rights a call uses: the principal must be active and hold what the tool names (Words, "Run-as")."""

from __future__ import annotations

from liyagent.gateway.outcome import Call, Posture, Rights, Verdict
from liyagent.gateway.policies import PolicySet


def judge(call: Call, policy: PolicySet) -> Verdict | None:
    """Refuse a principal that is gone or inactive, and one that lacks the permission the tool wants.

    A run that nobody started, of an agent without a run-as, calls only tools that want no permission.
    """
    reason = _refusal(call)
    if not reason:
        return None
    return Verdict(
        call=call, posture=Posture.REFUSED, gate="run_as", reason=f"Refused (run-as): {reason}."
    )


def _refusal(call: Call) -> str:
    wanted = call.contract.permission if call.contract is not None else ""
    for rights in (call.asker.rights, *call.asker.rights_above):
        if reason := _missing(call, rights, wanted):
            return reason
    return ""


def _missing(call: Call, rights: Rights, wanted: str) -> str:
    if not rights.principal:
        return (
            f"{call.name} wants the permission {wanted}, and this run is nobody's" if wanted else ""
        )
    if not rights.is_active:
        return f"{rights.principal}, whose rights this run uses, is no active user"
    if wanted and not rights.holds(wanted):
        return (
            f"{rights.principal}, whose rights this run uses, lacks the permission {wanted} that {call.name} wants; "
            "an operator grants it on the page of that user or of a group"
        )
    return ""
