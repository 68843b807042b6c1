"""Put a held call before a person: its mark, the request and the run's suspension in one commit (ruling 9)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from psycopg.types.json import Jsonb

from liyagent.approvals.digests import approval_digest, ceiling_of
from liyagent.approvals.words import FORMAT, WORDS
from liyagent.core.canonical import digest
from liyagent.core.ids import new_id
from liyagent.gateway.active import active_policy
from liyagent.gateway.call import prepare
from liyagent.gateway.outcome import Fate, Outcome, Payload, Verdict
from runs import hot
from runs.checkpoint import Checkpoint, keyring
from runs.ending import HandedBack
from runs.family import chain_of
from runs.keys import approved_call_key, intent_digest
from runs.marks import SealedMark, seal_outcome
from runs.models import Intent

HOLD = hot.with_events(
    "SELECT * FROM liyagent_hold("
    "%s, %s, %s, %b, %s, %s, %s, %s, %s, %s, %b, %b, %s, %s, %s, %s, %b, %s, %s, EVENTS)"
)
# Of a run that goes on: whoever decides has to be able to read them all.
MOST_OPEN = 20
OPEN = "SELECT count(*) FROM (SELECT FROM approvals_approval WHERE run_id = %s AND status = 'pending' LIMIT %s) AS asked"
TOO_MANY = (
    "Refused: {most} calls of this run wait for a person already, and no more are put before one until some of them are "
    "decided. This call was not made and waits for nobody; say so in your answer."
)
TOLD_HELD = (
    "Held: this call was not made. It waits for a person's approval (request {approval}), and this run does not wait for it. "
    "If it is approved, it is made then, exactly as asked. Do not ask for it again; say in your answer that it waits. ({reason})"
)


def file_call(
    checkpoint: Checkpoint,
    verdict: Verdict,
    *,
    step: int,
    replaces: UUID | None = None,
    why_stale: str = "",
    expires_in: float | None = None,
) -> Outcome:
    """File a held call and suspend the run; one that may not wait is told the request's id and goes on.

    One that goes on has at most `MOST_OPEN` requests open: a further call is refused, but no undo, of which there are as many
    as there were writes (SG-07). `replaces` is the request of this
    very call that `why_stale` says no longer stands; `expires_in` seconds it runs out, by the setting where that is None. Raises `HandedBack` where the run waits, `LostLease`.
    """
    call = verdict.call
    approval, place = new_id(), (step, call.index)
    payload = prepare(call, approved_call_key(approval))
    waits = call.asker.may_wait
    is_asked_for = not waits and replaces is None and not checkpoint.undo_key
    if is_asked_for and _open_requests(checkpoint) >= MOST_OPEN:
        return Outcome(fate=Fate.REFUSED, error=TOO_MANY.format(most=MOST_OPEN))
    outcome = Outcome(
        fate=Fate.HELD,
        error=TOLD_HELD.format(approval=approval, reason=verdict.reason),
        key=payload.key,
    )
    if waits:
        checkpoint.open_marks.add(place)
        checkpoint.held.add(place)
    else:
        checkpoint.open_marks.discard(place)
        checkpoint.held.discard(place)
        checkpoint.settled.add(place)
    request = _request(checkpoint, verdict, payload)
    checkpoint.events.add("approval.requested", **_told(approval, verdict, request, step=step))
    mark = SealedMark(
        payload=payload,
        has_identity=True,
        key_window_seconds=request["key_window_seconds"],
        marked_after=checkpoint.database_time(),
        intent=Intent.HELD.value,
        approval=str(approval),
        chain=chain_of(checkpoint),
        agent=checkpoint.acting_as,
        undo_key=checkpoint.undo_key,
    )
    fence, conf = checkpoint.next_fence(), settings.LIYAGENT
    values = (
        fence.run_id, fence.attempt, fence.sequence, checkpoint.head_seal(), waits, step, call.index,
        call.provider_call_id[:200], payload.key, intent_of(payload), mark.seal(checkpoint.sealer, step=step, index=call.index),
        None if waits else seal_outcome(checkpoint.sealer, outcome, step=step, index=call.index),
        approval, replaces, why_stale, Jsonb(request), seal_words(approval, payload),
        conf.approval_seconds if expires_in is None else expires_in, conf.approval_reminder_seconds,
    )  # fmt: skip
    rows = hot.ask(HOLD, (*values, *checkpoint.events.taken()), give_up=checkpoint.give_up)
    told = hot.told_of(rows, fence)
    if waits:
        raise HandedBack
    checkpoint.events.clear()
    checkpoint.written(told)
    return outcome


def _open_requests(checkpoint: Checkpoint) -> int:
    """How many requests of the run wait for a decision, as far as that counts."""
    rows = hot.ask(OPEN, (checkpoint.run_id, MOST_OPEN), give_up=checkpoint.give_up)
    return int(rows[0][0])


def seal_words(approval: UUID, payload: Payload) -> bytes:
    """Return the call's arguments as the request keeps them, sealed under the newest key."""
    ring = keyring()
    sealer = ring.sealer(key_id=ring.newest, run_id=approval, format_number=FORMAT)
    args = {name: value for name, value in payload.args.items() if value != payload.key}
    return sealer.seal({"args": args}, kind=WORDS, number=0)


def intent_of(payload: Payload) -> str:
    """Return the intent digest of exactly what leaves, our own key aside (ruling 8)."""
    args = {name: value for name, value in payload.args.items() if value != payload.key}
    return intent_digest(server=payload.server, tool=payload.tool, args=args)


def _request(checkpoint: Checkpoint, verdict: Verdict, payload: Payload) -> dict[str, Any]:
    call = verdict.call
    ceiling = ceiling_of(call, active_policy(version=checkpoint.config))
    return {
        "server": call.server,
        "tool": call.tool,
        "gate": verdict.gate,
        "reason": verdict.reason,
        "run_as": call.asker.run_as,
        "digest": approval_digest(verdict, payload),
        "policy_fingerprint": verdict.policy_fingerprint,
        "ceiling": ceiling,
        "ceiling_digest": digest(ceiling),
        "key_id": keyring().newest,
        "key_window_seconds": call.contract.key_window_seconds if call.contract else 0,
        "holder": str(checkpoint.run.holder),
        "agent": checkpoint.acting,
        **({"undo": checkpoint.undo_key} if checkpoint.undo_key else {}),
    }


def _told(
    approval: UUID, verdict: Verdict, request: dict[str, Any], *, step: int
) -> dict[str, Any]:
    call = verdict.call
    return {
        "approval": str(approval),
        "step": step,
        "index": call.index,
        "server": call.server,
        "tool": call.tool,
        "gate": verdict.gate,
        "digest": request["digest"],
        "policy": verdict.policy_fingerprint,
        "ceiling": request["ceiling_digest"],
        "run_as": request["run_as"],
    }
