"""Make a call that a person approved, or tell what was decided instead: everything is checked again (ruling 23)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection

from liyagent.approvals.digests import approval_digest, ceiling_of
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.core.canonical import digest
from liyagent.core.clock import boottime
from liyagent.gateway.call import make_call, prepare
from liyagent.gateway.judge import judge
from liyagent.gateway.outcome import (
    Call,
    Fate,
    MaySend,
    Outcome,
    Payload,
    Posture,
    Verdict,
)
from liyagent.gateway.policies import PolicySet
from runs import hot
from runs.checkpoint import stored_rows
from runs.errors import CheckpointBroken, LostLease
from runs.file_call import file_call
from runs.keys import approved_call_key
from runs.marks import SealedMark, open_mark
from runs.models import Call as MarkedCall
from runs.scope import RunScope
from runs.suspend import go_on_waiting

RESERVE = "SELECT * FROM liyagent_reserve(%s, %s, %s, %b, %s, %s, %s, %b)"
SPOIL = (
    "UPDATE approvals_approval SET status = 'stale', settled_reason = %s"
    " WHERE id = %s AND status = 'approved' RETURNING id"
)
DECIDED = {
    ApprovalStatus.REJECTED: "Refused: {by} rejected this call: {why}",
    ApprovalStatus.EXPIRED: "Refused: nobody decided about this call in time. It was not made.",
    ApprovalStatus.WITHDRAWN: "Refused: the request for this call was withdrawn: {why}",
}
NO_LONGER = "Refused: {why}. The call was approved and was not made; ask for it again if it is still wanted."


def answer_held(scope: RunScope, call: Call, row: MarkedCall, *, policy: PolicySet) -> Outcome:
    """Return what came of a call that was held, settled; made where it was approved and all still stands.

    One that nobody has decided about yet goes on waiting, and so does one whose approval is stale: it is filed anew with
    the reason. Raises `HandedBack` for these, `LostLease`, `CheckpointBroken`.
    """
    checkpoint = scope.checkpoint
    approval = _approval_of(scope, row)
    if approval.status == ApprovalStatus.PENDING:
        # The head was read, with its wakes, before this.
        raise go_on_waiting(checkpoint, wakes=checkpoint.run.wakes)
    verdict = judge(call, policy)
    if approval.status in DECIDED:
        told = DECIDED[ApprovalStatus(approval.status)]
        error = told.format(
            by=approval.decided_by, why=approval.decision_reason or approval.settled_reason
        )
        return _settled(scope, verdict, approval, error)
    if verdict.posture is Posture.REFUSED:
        _spoil(scope, approval, verdict.reason)
        return _settled(scope, verdict, approval, verdict.reason)
    why = needs_fresh_approval(approval, verdict, policy, mark=open_mark(checkpoint.sealer, row))
    if why:
        return file_call(checkpoint, verdict, step=scope.step, replaces=approval.id, why_stale=why)
    return make_call(
        call,
        ApprovedScope(scope, approval),
        policy=policy,
        judge=lambda given, by: replace(judge(given, by), posture=Posture.POSTURE),
    )


def needs_fresh_approval(
    approval: Approval, verdict: Verdict, policy: PolicySet, *, mark: SealedMark
) -> str:
    """Return what is no longer as it was approved, "" where everything is (ruling 23)."""
    if approval.status != ApprovalStatus.APPROVED:
        return f"its request is {approval.status}"
    call = verdict.call
    payload = prepare(call, approved_call_key(approval.id))
    changed = [
        name
        for name, was, now in (
            ("the arguments", mark.payload.args, payload.args),
            ("where it goes", (mark.payload.server, mark.payload.tool), (call.server, call.tool)),
            ("the policies", approval.policy_fingerprint, verdict.policy_fingerprint),
            ("whom it runs as", approval.run_as, call.asker.run_as),
            ("what it may use at most", approval.ceiling_digest, digest(ceiling_of(call, policy))),
            ("why it is held", approval.gate, verdict.gate or approval.gate),
        )
        if was != now
    ]
    if not changed and approval.digest != approval_digest(verdict, payload):
        changed = ["what was shown"]
    if changed:
        return f"changed since it was approved: {', '.join(changed)}"
    return _standing(approval)


def _standing(approval: Approval) -> str:
    """Whoever approved it must still be one who may (ruling 23)."""
    try:
        user = get_user_model().objects.filter(username=approval.decided_by, is_active=True).first()
        may = user is not None and user.has_perm("approvals.decide")
    finally:
        connection.close()
    return "" if may else f"{approval.decided_by}, who approved it, may no longer decide"


class ApprovedScope(RunScope):
    """The scope of one approved call: its key is the approval's, and its first mark consumes it (CR-29)."""

    def __init__(self, scope: RunScope, approval: Approval) -> None:
        """As `scope`, for the call that `approval` stands for."""
        super().__init__(scope.checkpoint, step=scope.step, step_ids=scope.step_ids)
        self.approval = approval
        self.is_reserved = False

    def step_key(self, call: Call) -> str:
        """Return the key from the approval, however often it is sent."""
        self.keys[call.index] = approved_call_key(self.approval.id)
        return self.keys[call.index]

    def mark_sending(self, verdict: Verdict, payload: Payload, **known: Any) -> MaySend | Outcome:
        """Reserve before the first sending; a later one is marked as any."""
        if self.is_reserved:
            return super().mark_sending(verdict, payload, **known)
        return self._reserve(verdict, payload)

    def _reserve(self, verdict: Verdict, payload: Payload) -> MaySend | Outcome:
        checkpoint, call = self.checkpoint, verdict.call
        if checkpoint.give_up():
            raise LostLease("given up before it was marked", run_id=checkpoint.run_id)
        window = call.contract.key_window_seconds if call.contract else 0
        sealed = SealedMark(
            payload=payload,
            has_identity=True,
            key_window_seconds=window,
            marked_after=checkpoint.database_time(),
            approval=str(self.approval.id),
        )
        self.resend_until.setdefault(call.index, boottime() + window / 2)
        fence, asked_at = checkpoint.next_fence(), boottime()
        values = (
            fence.run_id, fence.attempt, fence.sequence, checkpoint.head_seal(), self.step, call.index,
            self.approval.id, sealed.seal(checkpoint.sealer, step=self.step, index=call.index),
        )  # fmt: skip
        rows = hot.ask(RESERVE, values, give_up=checkpoint.give_up)
        told = hot.told_of(rows, fence)
        seconds_left = rows[0][2]
        if seconds_left is None:
            why = "its approval no longer stands"
            return Outcome(fate=Fate.REFUSED, error=NO_LONGER.format(why=why))
        self.is_reserved = True
        checkpoint.written(told)
        return self._may_send(verdict, deadline=asked_at + seconds_left)

    def _may_send(self, verdict: Verdict, *, deadline: float) -> MaySend | Outcome:
        checkpoint = self.checkpoint
        if checkpoint.stop:
            return Outcome(fate=Fate.REFUSED, error="Refused: this run was stopped by a person.")
        if checkpoint.config != self.judged_at:
            why = "the configuration changed while it was on its way"
            return Outcome(fate=Fate.REFUSED, error=NO_LONGER.format(why=why))
        self.deadlines[verdict.call.index] = deadline
        return lambda: boottime() < deadline and not checkpoint.give_up()

    def _has_identity(self, call: Call) -> bool:
        return True

    def _told(self, verdict: Verdict, payload: Payload | None, outcome: Outcome) -> dict[str, Any]:
        told = super()._told(verdict, payload, outcome)
        return {**told, "posture": Posture.HELD.value, "approval": str(self.approval.id)}


def _approval_of(scope: RunScope, row: MarkedCall) -> Approval:
    """The request that the mark names, if it is that of this very call."""
    rows = stored_rows(Approval, "id = %s", (row.approval_id,), give_up=scope.checkpoint.give_up)
    is_its = rows and (
        (rows[0].run_id, rows[0].step, rows[0].index) == (row.run_id, row.step, row.index)
        or scope.checkpoint.run.loop == f"approved:{rows[0].id}"
    )
    if not is_its:
        raise CheckpointBroken(
            f"the request that call {row.index} of step {row.step} waits for is not there"
        )
    return rows[0]


def _settled(scope: RunScope, verdict: Verdict, approval: Approval, error: str) -> Outcome:
    outcome = Outcome(fate=Fate.REFUSED, error=error, key=approved_call_key(approval.id))
    ApprovedScope(scope, approval).settle(verdict, None, outcome)
    return outcome


def _spoil(scope: RunScope, approval: Approval, why: str) -> None:
    hot.ask(SPOIL, (why, approval.id), give_up=scope.checkpoint.give_up)
