"""Put a step's question before a person, and tell what was decided: a request as any, whose call leaves nowhere."""

from __future__ import annotations

from dataclasses import replace

from liyagent.approvals.models import ApprovalStatus
from liyagent.core.seal import KeyMissing
from liyagent.gateway.active import active_policy
from liyagent.gateway.call import prepare
from liyagent.gateway.outcome import Call, Fate, Outcome, Payload, Posture, Verdict
from runs import hot
from runs.delegate import come_back
from runs.dispatch import DECIDED, ApprovedScope, ToJudgeAgain, approval_of, no_longer_stands
from runs.file_call import file_call
from runs.in_doubt import Mark
from runs.keys import approved_call_key
from runs.models import Call as MarkedCall
from runs.scope import RunScope
from runs.suspend import go_on_waiting

GATE, LONGEST_REASON = "workflow", 2000


def ask_person(
    scope: RunScope, call: Call, row: MarkedCall | None, *, expires_in: float | None
) -> Outcome:
    """Answer with who approved and why; a refusal where a person said no, or nobody said anything in time.

    Raises `HandedBack` while nobody has decided, and once it is filed.
    """
    checkpoint = scope.checkpoint
    if row is None:
        file_call(scope.checkpoint, _held(scope, call), step=scope.step, expires_in=expires_in)
        raise LookupError("a workflow that asks a person waits for the answer")
    approval = approval_of(scope, row)
    if approval.status == ApprovalStatus.PENDING:
        # The head was read, with its wakes, before this.
        raise go_on_waiting(checkpoint, wakes=checkpoint.run.wakes)
    verdict = Verdict(call=call, posture=Posture.POSTURE)
    approved = ApprovedScope(
        scope, approval, judged_at=checkpoint.config, is_reserved=row.intent == Mark.SENDING
    )
    payload = prepare(call, approved_call_key(approval.id))
    if approval.status in DECIDED:
        told = DECIDED[ApprovalStatus(approval.status)]
        why = approval.decision_reason or approval.settled_reason
        outcome = Outcome(fate=Fate.REFUSED, error=told.format(by=approval.decided_by, why=why))
        approved.settle(verdict, None, outcome)
        return outcome
    if not approved.is_reserved:
        _reserve(approved, verdict, payload, expires_in)
    result = {"approved_by": approval.decided_by, "reason": approval.decision_reason}
    outcome = Outcome(fate=Fate.DONE, result=result, key=payload.key)
    approved.settle(verdict, payload, outcome)
    return outcome


def _held(scope: RunScope, call: Call, *, why: str = "") -> Verdict:
    policy = active_policy(version=scope.checkpoint.config)
    return Verdict(
        call=call,
        posture=Posture.HELD,
        gate=GATE,
        reason=f"The workflow asks: {call.args['question']} {why}".strip()[:LONGEST_REASON],
        policy_fingerprint=policy.fingerprint,
    )


def _reserve(
    approved: ApprovedScope, verdict: Verdict, payload: Payload, expires_in: float | None
) -> None:
    """Consume the approval, once; a decision that is none any more is asked for anew. Raises `HandedBack`."""
    checkpoint, approval, call = approved.checkpoint, approved.approval, verdict.call
    while True:
        try:
            # What was approved leaves nowhere: a failover has nothing to send twice.
            why = no_longer_stands(
                approval,
                replace(call, contract=None),
                now=hot.database_now(checkpoint.give_up),
                timeline=checkpoint.timeline,
            )
        except KeyMissing as error:
            raise come_back(checkpoint) from error
        if why:
            held = _held(approved, call, why=f"Held again: {why}.")
            file_call(
                checkpoint,
                held,
                step=approved.step,
                replaces=approval.id,
                why_stale=why,
                expires_in=expires_in,
            )
        approved.judged_at = checkpoint.config
        try:
            approved.mark_sending(verdict, payload)
        except ToJudgeAgain:
            if checkpoint.stop:
                raise go_on_waiting(checkpoint, wakes=checkpoint.run.wakes) from None
            continue
        return
