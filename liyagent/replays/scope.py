"""Calls of a replay: answered from the record, and remembered nowhere but here (RP-03, RP-04).

The gates have judged each of them before, as they stand today. What the record cannot answer for comes back as an error that
says so; nothing has a way to a server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from liyagent.gateway.call import Way, prepare
from liyagent.gateway.contracts import address_of
from liyagent.gateway.models import Transport
from liyagent.gateway.outcome import (
    Call,
    Fate,
    MaySend,
    Outcome,
    Payload,
    Posture,
    Scope,
    Verdict,
)
from liyagent.replays.drift import drift_of
from liyagent.replays.made import How, MadeCall
from liyagent.replays.matching import Matcher
from liyagent.replays.recorded import RecordedCall
from runs.keys import fresh_key

UNSERVED = "Not made: this run is replayed from a recording, and the recording has no call of {name} left that answers this one."
REMOTE = (
    "Not made: this run is replayed from a recording, and no other agent is asked for a replay."
)
OWN_STATE = "Not made: this run is replayed from a recording, and a replay changes nothing that this house keeps."


class ReplayScope(Scope):
    """The calls of one replay, over all of its steps. `made` are those that were made so far."""

    is_counted = False

    def __init__(self, recorded: Sequence[RecordedCall], *, strict: bool) -> None:
        """With `strict` only the very same recorded call answers."""
        self.step = 0
        self.made: list[MadeCall] = []
        self.way = Way(send=self._send, open_way=_no_way)
        self._matcher = Matcher(recorded, strict=strict)
        self._how, self._recorded, self._outcome = How.REFUSED, None, None

    _how: How
    _recorded: RecordedCall | None
    _outcome: Outcome | None

    @property
    def unused(self) -> list[RecordedCall]:
        """The recorded calls that answered nothing."""
        return self._matcher.unused

    def step_key(self, call: Call) -> str:
        """Return a key that nothing else is known by: it is told to nobody."""
        return fresh_key()

    def mark_sending(self, verdict: Verdict, payload: Payload) -> MaySend | Outcome:
        """Mark nothing."""
        return _always

    def hold(self, verdict: Verdict) -> Outcome:
        """Return what the record says of it: what a person let through then came back with, else as it was decided."""
        return self._answer(prepare(verdict.call, fresh_key()))

    def find_out(self, verdict: Verdict, payload: Payload) -> Outcome:
        """Return what the record says of a call whose outcome nobody knew."""
        return self._outcome or Outcome(fate=Fate.UNKNOWN)

    def settle(self, verdict: Verdict, payload: Payload | None, outcome: Outcome) -> None:
        """Take note of what came of it, and of how it was answered."""
        call = verdict.call
        args = call.args if payload is None else _without_key(payload)
        if verdict.posture is Posture.REFUSED:
            self._pair_refused(call)
        recorded = self._recorded
        self.made.append(
            MadeCall(
                step=self.step,
                index=call.index,
                server=call.server,
                tool=call.tool,
                args=args,
                how=self._how,
                fate=outcome.fate.value,
                result=outcome.error or outcome.result,
                recorded=recorded,
                drift=drift_of(recorded.args, args) if recorded is not None else (),
            )
        )
        self._how, self._recorded, self._outcome = How.REFUSED, None, None

    def _send(self, payload: Payload, may_send: MaySend) -> Outcome:
        return self._answer(payload)

    def _answer(self, payload: Payload) -> Outcome:
        self._outcome = self._answered(payload)
        return self._outcome

    def _answered(self, payload: Payload) -> Outcome:
        if refusal := _not_here(payload):
            self._how = How.NOT_HERE
            return Outcome(fate=Fate.REFUSED, error=refusal)
        args = _without_key(payload)
        served = self._matcher.serve(payload.server, payload.tool, args)
        if served is None:
            self._how = How.UNSERVED
            name = f"{payload.server}/{payload.tool}"
            return Outcome(fate=Fate.FAILED, error=UNSERVED.format(name=name))
        self._how, self._recorded = served.how, served.recorded
        return _as_recorded(served.recorded)

    def _pair_refused(self, call: Call) -> None:
        """One that is refused today as it was then used its recorded call up."""
        self._recorded = self._matcher.refused(call.server, call.tool, call.args)


def _as_recorded(call: RecordedCall) -> Outcome:
    """What the model was told then: the result of what was done, else the words of what was not."""
    fate = Fate(call.fate)
    known: dict[str, Any] = {
        "fate": fate,
        "settlement": call.settlement,
        "duration_ms": call.ms,
    }
    if fate is Fate.DONE:
        return Outcome(result=call.result, **known)
    if isinstance(call.result, str):
        return Outcome(error=call.result, **known)
    return Outcome(result=call.result, **known)


def _not_here(payload: Payload) -> str:
    """Why a call is refused whatever the record says, "" where it is not."""
    address = address_of(payload.server)
    if address is None:
        return ""
    if address.transport == Transport.A2A:
        return REMOTE
    return OWN_STATE if address.transport == Transport.LOCAL and payload.is_write else ""


def _without_key(payload: Payload) -> dict[str, Any]:
    """The arguments as they are recorded: without our own key."""
    return {name: value for name, value in payload.args.items() if value != payload.key}


def _no_way(_server: str) -> None:
    """Open nothing."""


def _always() -> bool:
    return True
