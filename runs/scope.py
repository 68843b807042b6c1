"""The scope of an agent run's calls: how they are keyed, marked, settled and found out."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.conf import settings

from liyagent.agents import sub_agents
from liyagent.core.clock import boottime
from liyagent.gateway.active import active_policy
from liyagent.gateway.contracts import contracts_for
from liyagent.gateway.judge import judge
from liyagent.gateway.outcome import (
    Call,
    Fate,
    MaySend,
    NotSent,
    Outcome,
    Payload,
    Posture,
    Scope,
    Verdict,
)
from liyagent.gateway.wire import send
from runs import hot
from runs.authority import agent_now, refusal_of
from runs.checkpoint import Checkpoint
from runs.delegate import delegate
from runs.errors import LostLease
from runs.family import as_carried, asker_of, chain_of, refusal_above
from runs.file_call import file_call
from runs.handed import Handed
from runs.handing import Ride, asks_remote_agent, hand_to_remote, hear_back, hear_unmarked
from runs.in_doubt import Mark, Settlement, settlement_for
from runs.keys import fresh_key, has_identity, intent_digest, step_key
from runs.marks import SealedMark, open_mark, open_outcome, seal_outcome
from runs.models import Call as MarkedCall
from runs.models import Run
from runs.read_back import read_back
from runs.settling import args_without_key, audit_of_call, tell_span_of_call, told_of_call
from runs.undo_ride import ride_of_unknown, tell_registered, undo_ride
from sagas.declare import Declared, declare

LEFT_SOMETHING = frozenset({Fate.DONE, Fate.UNKNOWN})
MOST_RESENDS = 3
READ_BACK_PAUSES_PER_LEASE = 8
RENEWALS_PER_LEASE = 4
RESEND_PAUSE_SECONDS = 0.25
# A configuration that changes at each of these is being loaded: not now.
MOST_LOOKS = 10
TOO_FAST = (
    "Refused: the configuration changes faster than work can be handed down. Ask for it again."
)
CONFLICT_WORDS = ("conflict", "in progress", "409", "being processed")
SAME_INTENT = (
    "An earlier call with the same tool and arguments (call {earlier}) had an unknown outcome: it may have taken "
    "effect, or a person found that it did. A person has to look at it first; do not repeat it."
)
MASKED_ANEW = (
    "a data policy changed while this call was on its way; it was not made, ask for it again"
)


class RunScope(Scope):
    """One model step's calls of one attempt. Every write to the checkpoint goes through its fence."""

    def __init__(self, checkpoint: Checkpoint, *, step: int, step_ids: Sequence[str]) -> None:
        """`step_ids` are all provider ids of the step: a repeated one is no identity."""
        self.checkpoint = checkpoint
        # No verdict of this scope is older: a mark that is told of another configuration is judged again.
        self.judged_at = checkpoint.config
        self.step = step
        self.step_ids = list(step_ids)
        self.keys: dict[int, str] = {}
        # Until when, on this process's clock, a call's key certainly stands for it at its vendor (ruling 21).
        self.resend_until: dict[int, float] = {}
        self.deadlines: dict[int, float] = {}
        # How each call that was marked is undone, as its mark keeps it.
        self.undos: dict[int, Declared | None] = {}

    def declare(self, call: Call) -> Declared | None:
        """Return how the agent's map says that this write is undone, None where it says nothing (SG-02), or it undoes."""
        if self.checkpoint.undo_key:
            return None
        agent = agent_now(self.checkpoint.acting, config=self.checkpoint.config)
        undo = agent.compensations.get(call.name) if agent is not None else None
        if undo is None:
            return None
        return declare(undo, server=call.server, own="result", scope={"args": call.args})

    def step_key(self, call: Call) -> str:
        """Return the stable key where the provider's id is an identity, else a fresh one for this send."""
        if call.index not in self.keys:
            run = self.checkpoint.run
            self.keys[call.index] = (
                step_key(
                    correlation_id=run.correlation_id,
                    loop=run.loop,
                    steps_taken=self.step,
                    provider_call_id=call.provider_call_id,
                )
                if self._has_identity(call)
                else fresh_key()
            )
        return self.keys[call.index]

    def mark_sending(
        self,
        verdict: Verdict,
        payload: Payload,
        *,
        made_after: datetime | None = None,
        is_resend: bool = False,
    ) -> MaySend | Outcome:
        """Commit the mark; what is returned is asked right before the bytes (ruling 6).

        `made_after`: the call may have been made already, but not before this time of the database. `is_resend`:
        the bytes were marked before, and go as they are whatever data policies have come to mask (ruling 9).
        Raises `LostLease` where this attempt is no longer wanted: a mark that could not send would end as a failure.
        """
        call = verdict.call
        checkpoint = self.checkpoint
        if call.contract is not None and call.contract.is_delegation:
            return self._hand_down(verdict, payload)
        if checkpoint.give_up():
            raise LostLease("given up before it was marked", run_id=checkpoint.run_id)
        if boottime() >= self.deadlines.get(call.index, math.inf):
            # The last mark came too late to be sent on: give a renewal that is late, as after an outage, its beat.
            time.sleep(settings.LIYAGENT.lease_seconds / RENEWALS_PER_LEASE)
        place = (self.step, call.index)
        was_open = place in checkpoint.open_marks
        checkpoint.open_marks.add(place)
        handed, ride = (None, None) if was_open else self._hand_over(call, payload)
        sealed = SealedMark(
            payload=payload,
            has_identity=self._has_identity(call),
            key_window_seconds=call.contract.key_window_seconds if call.contract else 0,
            marked_after=made_after or checkpoint.database_time(),
            undo=self.undos.setdefault(call.index, self.declare(call)),
            handoff=handed,
        )
        if sealed.undo is not None:
            checkpoint.declared.add(place)
        self.resend_until.setdefault(call.index, boottime() + sealed.key_window_seconds / 2)
        marked = hot.write_mark(
            checkpoint.next_fence(),
            seal=checkpoint.head_seal(),
            step=self.step,
            index=call.index,
            provider_call_id=call.provider_call_id[:200],
            server=call.server,
            tool=call.tool,
            key=payload.key,
            has_identity=sealed.has_identity,
            key_window_seconds=sealed.key_window_seconds,
            intent=intent_digest(
                server=call.server, tool=call.tool, args=args_without_key(payload)
            ),
            sealed=sealed.seal(checkpoint.sealer, step=self.step, index=call.index),
            handoff=ride,
            give_up=checkpoint.give_up,
        )
        if marked.same_intent is not None:
            why = SAME_INTENT.format(earlier=marked.same_intent)
            if was_open:
                return Outcome(fate=Fate.REFUSED, error=f"Refused: {why}")
            checkpoint.open_marks.discard(place)
            if not call.asker.may_wait:
                return Outcome(fate=Fate.REFUSED, error=f"Refused: {why}")
            return file_call(
                checkpoint, replace(verdict, gate="same_intent", reason=why), step=self.step
            )
        checkpoint.written(marked)
        if handed is not None:
            checkpoint.handed[place] = handed
        if marked.stop:
            return Outcome(fate=Fate.REFUSED, error="Refused: this run was stopped by a person.")
        if marked.config != self.judged_at and (
            reason := self._forbidden_now(call, is_resend=is_resend)
        ):
            return Outcome(fate=Fate.REFUSED, error=f"Refused: {reason}")
        deadline = self.deadlines[call.index] = marked.deadline
        return lambda: boottime() < deadline and not checkpoint.give_up()

    def _hand_over(self, call: Call, payload: Payload) -> tuple[Handed | None, Ride | None]:
        """What a call hands over to a remote agent, nothing for any other (HO-03)."""
        if not asks_remote_agent(call):
            return None, None
        return hand_to_remote(self.checkpoint, call, payload, place=(self.step, call.index))

    def _hand_down(self, verdict: Verdict, payload: Payload) -> Outcome:
        """Hand the work to its agent, judged by what stands as that is stored. Raises `HandedBack`, `LostLease`."""
        call = verdict.call
        for _ in range(MOST_LOOKS):
            outcome = delegate(
                self.checkpoint,
                verdict,
                payload,
                step=self.step,
                has_identity=self._has_identity(call),
            )
            if outcome is not None:
                return outcome
            if reason := self._forbidden_now(call, is_resend=False):
                return Outcome(fate=Fate.REFUSED, error=f"Refused: {reason}")
        return Outcome(fate=Fate.REFUSED, error=TOO_FAST)

    def _forbidden_now(self, call: Call, *, is_resend: bool) -> str:
        """Judge again what was judged under an older configuration: what forbids the call now acts at once (ruling 5)."""
        run, config, acting = self.checkpoint.run, self.checkpoint.config, self.checkpoint.acting
        agent = agent_now(acting, config=config)
        refusal = refusal_of(Run(agent_key=acting), agent)
        if refusal is not None or agent is None:
            return refusal[1] if refusal is not None else ""
        agent = as_carried(self.checkpoint, agent)
        contract = contracts_for(agent.tool_patterns, version=config).get(call.name)
        chain = chain_of(self.checkpoint)
        if (above := refusal_above(chain, config=config)) is not None:
            return above[1]
        asker = asker_of(run, agent, chain=chain)
        verdict = judge(
            replace(call, asker=asker, contract=contract), active_policy(version=config)
        )
        if not self.allows(verdict):
            return verdict.reason
        return MASKED_ANEW if verdict.call.args != call.args and not is_resend else ""

    def allows(self, verdict: Verdict) -> bool:
        """Say whether what the gates say now lets a marked call be sent again."""
        return verdict.posture is Posture.POSTURE

    def hold(self, verdict: Verdict) -> Outcome:
        """File a held call; the run waits for it, or is told the request's id and goes on.

        Raises `HandedBack` where it waits.
        """
        return file_call(self.checkpoint, verdict, step=self.step)

    def settle(self, verdict: Verdict, payload: Payload | None, outcome: Outcome) -> None:
        """Keep what came of a call: a marked one in a commit of its own, any other as a buffered event."""
        call = verdict.call
        place = (self.step, call.index)
        checkpoint = self.checkpoint
        checkpoint.events.add("tool.call", **self._told(verdict, payload, outcome))
        tell_span_of_call(verdict, payload, outcome)
        if place not in checkpoint.open_marks:
            if payload is not None and not call.writes and asks_remote_agent(call):
                hear_unmarked(checkpoint, call, payload, outcome, step=self.step)
            return
        checkpoint.open_marks.discard(place)
        checkpoint.held.discard(place)
        checkpoint.settled.add(place)
        settlement = outcome.settlement or "answered"
        in_doubt = bool(outcome.settlement) or outcome.fate is Fate.UNKNOWN
        handoff = hear_back(checkpoint, place, outcome)
        told = hot.write_settled(
            checkpoint.next_fence(),
            seal=checkpoint.head_seal(),
            step=self.step,
            index=call.index,
            fate=outcome.fate.value,
            settlement=settlement,
            outcome=seal_outcome(checkpoint.sealer, outcome, step=self.step, index=call.index),
            late_look_seconds=(
                settings.LIYAGENT.late_look_seconds if outcome.fate is Fate.UNKNOWN else None
            ),
            audit=audit_of_call(call, outcome, step=self.step) if in_doubt else hot.NO_AUDIT,
            undo=self._undo(call, outcome),
            handoff=handoff,
            events=checkpoint.events.taken(),
            give_up=checkpoint.give_up,
        )
        checkpoint.events.clear()
        checkpoint.written(told)

    def find_out(self, verdict: Verdict, payload: Payload) -> Outcome:
        """Settle a write of unknown outcome in a living run, at once, as one in doubt (ruling 9)."""
        call = verdict.call
        settlement = settlement_for(
            mark=Mark.SENDING,
            gates_allow=True,
            has_identity=self._has_identity(call),
            is_within_vendor_window=self._may_resend(call),
            is_delegation=False,
            has_reader=call.contract is not None and call.contract.reader is not None,
        )
        return self.carry_out(settlement, verdict, payload)

    def plan(self, row: MarkedCall, verdict: Verdict) -> Settlement:
        """Decide how a call that a lost attempt left in doubt is settled."""
        contract = verdict.call.contract
        return settlement_for(
            mark=Mark(row.intent),
            gates_allow=self.allows(verdict),
            has_identity=row.has_identity,
            is_within_vendor_window=self._is_within_window(row),
            is_delegation=row.server == sub_agents.SERVER,
            has_reader=contract is not None and contract.reader is not None,
        )

    def payload_of(self, row: MarkedCall) -> Payload:
        """Return the marked bytes, exactly: a re-send is never masked, filed or keyed anew (ruling 9)."""
        mark = open_mark(self.checkpoint.sealer, row)
        self.undos[row.index] = mark.undo
        return mark.payload

    def outcome_of(self, row: MarkedCall) -> Outcome:
        """Return what a settled call came back with."""
        return open_outcome(self.checkpoint.sealer, row)

    def carry_out(self, settlement: Settlement, verdict: Verdict, payload: Payload) -> Outcome:
        """Do what was decided about a call in doubt; what it returns is settled by the caller."""
        if settlement is Settlement.SENT_WITH_SAME_KEY:
            outcome = self._send_again(verdict, payload)
            if outcome.fate is not Fate.UNKNOWN:
                return replace(outcome, settlement=settlement, key=payload.key)
        if settlement is not Settlement.TOLD_UNKNOWN:
            # The vendor may still be at it: it was sent to just now, or its caller died just now.
            time.sleep(settings.LIYAGENT.lease_seconds / READ_BACK_PAUSES_PER_LEASE)
        return replace(read_back(payload, verdict.call.contract), key=payload.key)

    def _send_again(self, verdict: Verdict, payload: Payload) -> Outcome:
        """Send the marked bytes with the marked key, each time under a mark and inside the vendor's window.

        Only DONE and the tool's own word settle it: a conflict on our own key is no failure, and a sending that
        could not leave, or was refused at the door, says nothing of the one in doubt.
        """
        for attempt in range(MOST_RESENDS):
            if attempt:
                time.sleep(RESEND_PAUSE_SECONDS * 2**attempt)
            if not self._may_resend(verdict.call):
                break
            may_send = self.mark_sending(verdict, payload, is_resend=True)
            if isinstance(may_send, Outcome):
                break
            try:
                outcome = send(payload, self._inside_window(verdict.call, may_send))
            except NotSent:
                continue
            if outcome.fate is Fate.DONE or (outcome.by_tool and not _is_conflict(outcome)):
                return outcome
        return Outcome(fate=Fate.UNKNOWN)

    def _inside_window(self, call: Call, may_send: MaySend) -> MaySend:
        return lambda: may_send() and self._may_resend(call)

    def _may_resend(self, call: Call) -> bool:
        return boottime() < self.resend_until.get(call.index, 0.0)

    def _is_within_window(self, row: MarkedCall) -> bool:
        """Only under half of the vendor's window, since the clocks of two houses differ (ruling 21)."""
        if row.key_window_seconds <= 0:
            return False
        mark = open_mark(self.checkpoint.sealer, row)
        asked_at = boottime()
        now = hot.database_now(self.checkpoint.give_up)
        age = (now - min(row.marked_at, mark.marked_after)).total_seconds()
        self.resend_until[row.index] = asked_at + mark.key_window_seconds / 2 - age
        return boottime() < self.resend_until[row.index]

    def _has_identity(self, call: Call) -> bool:
        return has_identity(call.provider_call_id, tool=call.tool, step_ids=self.step_ids)

    def _told(self, verdict: Verdict, payload: Payload | None, outcome: Outcome) -> dict[str, Any]:
        return told_of_call(self.checkpoint, verdict, payload, outcome, step=self.step)

    def _undo(self, call: Call, outcome: Outcome) -> hot.SagaRide:
        """How the write is undone, fixed now that it took effect; told in the same commit (SG-03)."""
        declared, run = self.undos.get(call.index), self.checkpoint.run
        if declared is None or outcome.fate not in LEFT_SOMETHING:
            return hot.NO_UNDO
        if outcome.fate is Fate.UNKNOWN:
            return ride_of_unknown()
        ride = undo_ride(
            declared,
            outcome.result,
            saga=run.correlation_id,
            run_id=run.id,
            agent=self.checkpoint.acting,
            step=self.step,
            index=call.index,
            chain=chain_of(self.checkpoint),
        )
        tell_registered(self.checkpoint.events, ride, step=self.step, call=call)
        return ride


def _is_conflict(outcome: Outcome) -> bool:
    text = outcome.error.lower()
    return outcome.fate is Fate.FAILED and any(words in text for words in CONFLICT_WORDS)
