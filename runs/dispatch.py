"""Make a call that a person approved, or tell what was decided instead: everything is checked again (ruling 23)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection
from psycopg.types.json import Jsonb

from liyagent.approvals.digests import approval_digest, ceiling_of
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.words import timeline_of
from liyagent.core.canonical import digest
from liyagent.core.clock import boottime
from liyagent.core.seal import KeyMissing
from liyagent.gateway.active import active_policy
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
from runs.approved_run import loop_of
from runs.checkpoint import stored_rows
from runs.delegate import come_back, delegate
from runs.ending import MayNotGoOn, failed
from runs.endings import EndError
from runs.errors import LostLease
from runs.file_call import file_call
from runs.in_doubt import Mark
from runs.keys import approved_call_key
from runs.marks import SealedMark, open_mark
from runs.models import Call as MarkedCall
from runs.scope import RunScope
from runs.suspend import go_on_waiting
from runs.told_by_person import SAME_INTENT, result_told
from sagas.declare import Declared

logger = logging.getLogger(__name__)

RESERVE = "SELECT * FROM liyagent_reserve(%s, %s, %s, %b, %s, %s, %s, %s, %b, %s, %s)"
SPOIL = "SELECT * FROM liyagent_spoil(%s, %s, %s, %s)"
# Not in sight of who approved: it came to that later. Each half reads its own index of few rows.
IN_DOUBT_SINCE = """
SELECT min(id) FROM (
    SELECT id FROM runs_call WHERE correlation_id = %s AND intent_digest = %s AND settled_at > %s
        AND fate = 'unknown' AND late_finding <> 'found'
    UNION ALL
    SELECT id FROM runs_call WHERE correlation_id = %s AND intent_digest = %s AND settled_at > %s
        AND fate = 'done' AND settlement = 'by_person'
) AS same
"""
MAY_HAVE_HAPPENED = (
    "call {call}, the same as this one, may have taken effect, and that was not known when it was approved; look for it at "
    "the vendor first"
)
FAILED_OVER = (
    "the database failed over after it was approved: it may have been made then, with the key {key}; look for it at the "
    "vendor first"
)
DECIDED = {
    ApprovalStatus.REJECTED: "Refused: {by} rejected this call: {why}",
    ApprovalStatus.EXPIRED: "Refused: nobody decided about this call in time. It was not made.",
    ApprovalStatus.WITHDRAWN: "Refused: the request for this call was withdrawn: {why}",
}


class ToJudgeAgain(Exception):
    """Nothing was reserved: what the call was judged by, or its approval, changed on the way. It is looked at anew."""


def answer_held(
    scope: RunScope,
    call: Call,
    row: MarkedCall,
    *,
    policy: PolicySet,
    ask_first: Callable[[Call], str],
) -> Outcome:
    """Return what came of a call that was held, settled; made where it was approved and all still stands.

    One that nobody has decided about yet goes on waiting, and so does one whose approval is stale: it is filed anew with
    the reason. `call` and `policy` are of the configuration that the checkpoint was told of last; `ask_first` says why a
    hook refuses an approved call, "" where none does. Raises `HandedBack` for what waits, `ToJudgeAgain`, `LostLease`,
    `MayNotGoOn` where its request is not there.
    """
    checkpoint = scope.checkpoint
    approval = approval_of(scope, row)
    if approval.status == ApprovalStatus.PENDING:
        # The head was read, with its wakes, before this.
        raise go_on_waiting(checkpoint, wakes=checkpoint.run.wakes)
    if approval.status in DECIDED:
        return _told(scope, judge(call, policy), approval, row)
    if not call.problem and approval.status == ApprovalStatus.APPROVED:
        call = replace(call, problem=ask_first(call))
    verdict = judge(call, policy)
    if verdict.posture is Posture.REFUSED:
        _spoil(scope, approval, verdict.reason)
        return _settled(scope, verdict, approval, verdict.reason)
    try:
        why = needs_fresh_approval(
            approval,
            verdict,
            policy,
            mark=open_mark(checkpoint.sealer, row),
            now=hot.database_now(checkpoint.give_up),
            timeline=checkpoint.timeline,
        )
    except KeyMissing as error:
        logger.warning("request %s is left to a process that has its key: %s", approval.id, error)
        raise come_back(checkpoint) from error
    why = why or _in_doubt_since(scope, approval, row)
    if why:
        return _filed_anew(scope, verdict, approval, why)
    approved = ApprovedScope(scope, approval, judged_at=checkpoint.config)
    return make_call(
        call,
        approved,
        policy=policy,
        judge=lambda given, by: replace(judge(given, by), posture=Posture.POSTURE),
    )


def needs_fresh_approval(
    approval: Approval,
    verdict: Verdict,
    policy: PolicySet,
    *,
    mark: SealedMark,
    now: datetime,
    timeline: int,
) -> str:
    """Return what is no longer as it was approved, "" where everything is (ruling 23).

    `timeline` is the one that the server writes on now. Raises `KeyMissing` where the request's key is not here.
    """
    if approval.status != ApprovalStatus.APPROVED:
        return f"its request is {approval.status}"
    if approval.expires_at <= now:
        return (
            f"what was approved was to be made before {approval.expires_at:%Y-%m-%d %H:%M:%S} UTC"
        )
    call = verdict.call
    payload = prepare(call, approved_call_key(approval.id))
    changed = [
        name
        for name, was, now_is in (
            ("the arguments", mark.payload.args, payload.args),
            ("where it goes", (mark.payload.server, mark.payload.tool), (call.server, call.tool)),
        )
        if was != now_is
    ]
    changed += authority_changed(approval, verdict, policy)
    if not changed and approval.digest != approval_digest(verdict, payload):
        changed = ["what was shown"]
    if changed:
        return f"changed since it was approved: {', '.join(changed)}"
    return no_longer_stands(approval, call, now=now, timeline=timeline)


def no_longer_stands(approval: Approval, call: Call, *, now: datetime, timeline: int) -> str:
    """Return why a decision is not one to act on, "" where it is: who made it still may, and it was made here."""
    return _standing(approval) or _proof(approval, call, now=now, timeline=timeline)


def authority_changed(approval: Approval, verdict: Verdict, policy: PolicySet) -> list[str]:
    """Return what a call is made on that is no longer what it was approved on; nothing of its arguments."""
    call = verdict.call
    return [
        name
        for name, was, now in (
            ("the policies", approval.policy_fingerprint, verdict.policy_fingerprint),
            ("whom it runs as", approval.run_as, call.asker.run_as),
            ("what it may use at most", approval.ceiling_digest, digest(ceiling_of(call, policy))),
            ("why it is held", approval.gate, verdict.gate or approval.gate),
        )
        if was != now
    ]


def _in_doubt_since(scope: RunScope, approval: Approval, row: MarkedCall) -> str:
    """The same call of this run or its kin came to be in doubt after it was approved: a person has to know (ruling 8)."""
    values = (row.correlation_id, row.intent_digest, approval.decided_at)
    ((call,),) = hot.ask(IN_DOUBT_SINCE, (*values, *values), give_up=scope.checkpoint.give_up)
    return "" if call is None else MAY_HAVE_HAPPENED.format(call=call)


def _standing(approval: Approval) -> str:
    """Whoever approved it must still be one who may (ruling 23)."""
    try:
        user = get_user_model().objects.filter(username=approval.decided_by, is_active=True).first()
        may = user is not None and user.has_perm("approvals.decide")
    finally:
        connection.close()
    return "" if may else f"{approval.decided_by}, who approved it, may no longer decide"


def _proof(approval: Approval, call: Call, *, now: datetime, timeline: int) -> str:
    """A decision stands under the seal of its request, and the call it lets out did not leave before a failover.

    A standby that was promoted may lack the reservation that came after the decision, and what that let out is at its
    vendor (ruling 40). One that knows the key takes it for the same call; of any other a person has to know. Work that is
    handed down leaves with its child or not at all.
    """
    approved_on = timeline_of(approval)
    if approved_on is None:
        return "its approval is not one that was made here"
    contract = call.contract
    if (
        0 in {approved_on, timeline}
        or approved_on == timeline
        or contract is None
        or contract.is_delegation
    ):
        return ""
    age = (now - (approval.decided_at or approval.created_at)).total_seconds()
    if age < contract.key_window_seconds / 2:
        return ""
    return FAILED_OVER.format(key=approved_call_key(approval.id))


class ApprovedScope(RunScope):
    """The scope of one approved call: its key is the approval's, and its first mark consumes it (CR-29)."""

    def __init__(
        self, scope: RunScope, approval: Approval, *, judged_at: int, is_reserved: bool = False
    ) -> None:
        """As `scope`, with what it knows of its calls, for the one that `approval` stands for.

        `judged_at` is the configuration that the call was judged by. `is_reserved`: an attempt before had consumed it.
        """
        super().__init__(scope.checkpoint, step=scope.step, step_ids=scope.step_ids)
        self.judged_at = judged_at
        self.keys, self.deadlines = scope.keys, scope.deadlines
        self.resend_until = scope.resend_until
        self.approval = approval
        self.is_reserved = is_reserved
        self.undos, self._asked = scope.undos, scope

    def declare(self, call: Call) -> Declared | None:
        """Return how whoever asked for the call says that it is undone."""
        return self._asked.declare(call)

    def step_key(self, call: Call) -> str:
        """Return the key from the approval, however often it is sent."""
        self.keys[call.index] = approved_call_key(self.approval.id)
        return self.keys[call.index]

    def mark_sending(self, verdict: Verdict, payload: Payload, **known: Any) -> MaySend | Outcome:
        """Reserve before the first sending; a later one is marked as any. Raises `ToJudgeAgain`."""
        call = verdict.call
        if self.is_reserved or (call.contract is not None and call.contract.is_delegation):
            return super().mark_sending(verdict, payload, **known)
        return self._reserve(verdict, payload)

    def _hand_down(self, verdict: Verdict, payload: Payload) -> Outcome:
        """Hand approved work to its agent under the approval's key. Raises `HandedBack`, `ToJudgeAgain`, `LostLease`."""
        outcome = delegate(
            self.checkpoint,
            verdict,
            payload,
            step=self.step,
            has_identity=True,
            approval=self.approval.id,
        )
        if outcome is None:
            raise ToJudgeAgain
        return outcome

    def allows(self, verdict: Verdict) -> bool:
        """Let through what its gate holds as before: that was approved, on the authority that it has now."""
        if verdict.posture is not Posture.HELD:
            return super().allows(verdict)
        policy = active_policy(version=self.checkpoint.config)
        return not authority_changed(self.approval, verdict, policy) and not _standing(
            self.approval
        )

    def _reserve(self, verdict: Verdict, payload: Payload) -> MaySend | Outcome:
        checkpoint, call = self.checkpoint, verdict.call
        if checkpoint.give_up():
            raise LostLease("given up before it was marked", run_id=checkpoint.run_id)
        window = call.contract.key_window_seconds if call.contract else 0
        handed, ride = self._hand_over(call, payload)
        sealed = SealedMark(
            payload=payload,
            has_identity=True,
            key_window_seconds=window,
            marked_after=checkpoint.database_time(),
            approval=str(self.approval.id),
            undo=self.undos.setdefault(call.index, self.declare(call)),
            handoff=handed,
        )
        self.resend_until.setdefault(call.index, boottime() + window / 2)
        place = (self.step, call.index)
        if sealed.undo is not None:
            checkpoint.declared.add(place)
        checkpoint.held.discard(place)
        fence, asked_at = checkpoint.next_fence(), boottime()
        values = (
            fence.run_id, fence.attempt, fence.sequence, checkpoint.head_seal(), self.step, call.index,
            self.approval.id, window, sealed.seal(checkpoint.sealer, step=self.step, index=call.index),
            self.judged_at, None if ride is None else Jsonb(ride),
        )  # fmt: skip
        rows = hot.ask(RESERVE, values, give_up=checkpoint.give_up)
        told, seconds_left = hot.told_of(rows, fence), rows[0][2]
        if seconds_left is None:
            checkpoint.held.add(place)
            checkpoint.stop, checkpoint.config = told.stop, told.config
            raise ToJudgeAgain
        self.is_reserved = True
        checkpoint.written(told)
        if handed is not None:
            checkpoint.handed[place] = handed
        deadline = self.deadlines[call.index] = asked_at + seconds_left
        return lambda: boottime() < deadline and not checkpoint.give_up()

    def _has_identity(self, call: Call) -> bool:
        return True

    def _told(self, verdict: Verdict, payload: Payload | None, outcome: Outcome) -> dict[str, Any]:
        told = super()._told(verdict, payload, outcome)
        return {**told, "posture": Posture.HELD.value, "approval": str(self.approval.id)}


def scope_for(scope: RunScope, row: MarkedCall) -> RunScope:
    """Return the scope in which a call that was marked as sending is settled: its approval's where it has one.

    Raises `LostLease`, `MayNotGoOn` where that is not there.
    """
    if row.approval_id is None or row.intent != Mark.SENDING:
        return scope
    approval = approval_of(scope, row)
    return ApprovedScope(scope, approval, judged_at=scope.judged_at, is_reserved=True)


def approval_of(scope: RunScope, row: MarkedCall) -> Approval:
    """The request that the mark names, if it is that of this very call."""
    rows = stored_rows(Approval, "id = %s", (row.approval_id,), give_up=scope.checkpoint.give_up)
    is_its = rows and (
        (rows[0].run_id, rows[0].step, rows[0].index) == (row.run_id, row.step, row.index)
        or scope.checkpoint.run.loop == loop_of(rows[0].id)
    )
    if not is_its:
        told = f"the request that call {row.index} of step {row.step} waits for is not there"
        raise MayNotGoOn(
            failed(EndError.CHECKPOINT_BROKEN, f"its checkpoint does not verify: {told}")
        )
    return rows[0]


def _told(scope: RunScope, verdict: Verdict, approval: Approval, row: MarkedCall) -> Outcome:
    told = DECIDED[ApprovalStatus(approval.status)]
    why = approval.decision_reason or approval.settled_reason
    error = told.format(by=approval.decided_by, why=why)
    if approval.gate == SAME_INTENT:
        error += result_told(row, give_up=scope.checkpoint.give_up)
    return _settled(scope, verdict, approval, error)


def _settled(scope: RunScope, verdict: Verdict, approval: Approval, error: str) -> Outcome:
    outcome = Outcome(fate=Fate.REFUSED, error=error, key=approved_call_key(approval.id))
    approved = ApprovedScope(scope, approval, judged_at=scope.checkpoint.config)
    approved.settle(verdict, None, outcome)
    return outcome


def _filed_anew(scope: RunScope, verdict: Verdict, approval: Approval, why: str) -> Outcome:
    """Ask a person again, also where the gates would let it through by now: what was approved is not what it is."""
    held = replace(
        verdict,
        gate=verdict.gate or approval.gate,
        reason=f"{verdict.reason} Held again: {why}.".strip(),
    )
    outcome = file_call(
        scope.checkpoint, held, step=scope.step, replaces=approval.id, why_stale=why
    )
    scope.settle(held, None, outcome)
    return outcome


def _spoil(scope: RunScope, approval: Approval, why: str) -> None:
    run, give_up = scope.checkpoint.run, scope.checkpoint.give_up
    if not hot.ask(SPOIL, (run.id, run.attempt, approval.id, why), give_up=give_up):
        raise LostLease(run_id=run.id, attempt=run.attempt)
