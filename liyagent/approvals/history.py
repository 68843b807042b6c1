"""What became of a request, in words: who decided, when it was settled, and why."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.approvals.handlers import ROUTINE
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.refusals import decision_of
from liyagent.approvals.saying import saying_of
from liyagent.core.moments import age, shown_now, when
from liyagent.core.tables import cell

# What, when, by whom, why.
Line = tuple[str, SafeString, str, str]


def outcome_of(approval: Approval) -> str:
    """Say who decided about it, how long ago and why; of what went on or ended without a person, when and why too."""
    told = []
    if approval.decided_at and approval.decided_by:
        decided = str(decision_of(approval) or approval.status)
        ago = age(approval.decided_at, shown_now())
        told.append(
            f"{_capital(decided)} by {cell(approval.decided_by)} {ago}: {cell(approval.decision_reason)}"
        )
    if approval.settled_reason and (approval.status == ApprovalStatus.STALE or not told):
        ago = f" {age(approval.settled_at, shown_now())}" if approval.settled_at else ""
        told.append(f"{_capital(approval.status)}{ago}: {cell(approval.settled_reason)}")
    return ". ".join(told)


def history_of(approval: Approval) -> list[Line]:
    """Return what happened to a request: what, when, by whom, why."""
    asked = "asked for" if approval.kind == ROUTINE else "started"
    starter = f"{asked} by {cell(approval.requested_by)}" if approval.requested_by else ""
    told = [("Asked for", when(approval.created_at), f"agent {cell(approval.agent_key)}", starter)]
    if approval.decided_at:
        decided = str(decision_of(approval) or approval.status)
        by, why = cell(approval.decided_by), cell(approval.decision_reason)
        told.append((_capital(decided), when(approval.decided_at), by, why))
    if approval.status == ApprovalStatus.STALE or (
        approval.settled_reason and not approval.decided_at
    ):
        by, why = "the run that was to make it", cell(approval.settled_reason)
        told.append((_capital(approval.status), settled(approval), by, why))
    if approval.consumed_at:
        what, why = saying_of(approval).sent
        told.append((what, when(approval.consumed_at), "", why))
    return told


def settled(approval: Approval) -> SafeString:
    """Return when it was settled; rows of an earlier release kept it only where somebody decided."""
    return when(approval.settled_at) if approval.settled_at else format_html("{}", "not kept")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
