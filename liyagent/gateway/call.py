"""The only way out to a tool server: judge, key, mark, send, settle. Read downwards."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace

from liyagent.core.metrics import CALLS_SETTLED
from liyagent.core.transactions import forbid_transaction
from liyagent.gateway import wire
from liyagent.gateway.judge import judge as ask_gates
from liyagent.gateway.outcome import (
    Call,
    Contract,
    Fate,
    KeyPlace,
    MaySend,
    NotSent,
    Outcome,
    Payload,
    Posture,
    Scope,
    Verdict,
)
from liyagent.gateway.policies import PolicySet

MOST_MARKS = 3

Send = Callable[[Payload, MaySend], Outcome]
OpenWay = Callable[[str], None]
Judge = Callable[[Call, PolicySet], Verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How calls leave: what sends one, and what opens the way of a server before a write is marked."""

    send: Send
    open_way: OpenWay


WIRE = Way(send=wire.send, open_way=wire.open_way)


def make_call(
    call: Call,
    scope: Scope,
    *,
    policy: PolicySet,
    judge: Judge = ask_gates,
    send: Send = wire.send,
    open_way: OpenWay = wire.open_way,
) -> Outcome:
    """Carry out `call` for `scope` and return what became of it, settled.

    A write is marked before it leaves; one of unknown fate is handed to `scope.find_out` and never
    sent again from here (ruling 22). `scope.settle` is called once for whatever came of it, a refusal
    and a hold included. What the scope raises (a lost lease) goes through, and then nothing is sent
    after it. Raises `InTransaction` where a transaction is open.
    """
    forbid_transaction(f"calling {call.name}")
    verdict = judge(call, policy)
    if verdict.posture is Posture.REFUSED:
        return _settled(scope, verdict, None, Outcome(fate=Fate.REFUSED, error=verdict.reason))
    if verdict.posture is Posture.HELD:
        return _settled(scope, verdict, None, scope.hold(verdict))
    payload = prepare(verdict.call, scope.step_key(verdict.call))
    if payload.is_write:
        outcome = _write(verdict, payload, scope, send=send, open_way=open_way)
    else:
        outcome = _read(payload, send)
    return _settled(scope, verdict, payload, replace(outcome, key=payload.key))


def prepare(call: Call, key: str) -> Payload:
    """Return exactly what leaves: the arguments as judged, with the key where the contract places it.

    Only the contract makes a field a key; one that a schema merely has is left as it is (FL-08).
    """
    contract = call.contract or Contract(server=call.server, tool=call.tool)
    args = deepcopy(call.args)
    if contract.key_place is KeyPlace.ARGUMENT:
        args[contract.key_field] = key
    return Payload(
        server=call.server,
        tool=call.tool,
        args=args,
        key=key,
        mission=call.asker.mission,
        is_write=call.writes,
        timeout_seconds=contract.timeout_seconds,
        limit_bytes=contract.limit_bytes,
        agent="" if call.writes else call.asker.agent,
    )


def _settled(scope: Scope, verdict: Verdict, payload: Payload | None, outcome: Outcome) -> Outcome:
    scope.settle(verdict, payload, outcome)
    if scope.is_counted:
        CALLS_SETTLED.of(verdict.call.server, outcome.fate.value).inc()
    return outcome


def _read(payload: Payload, send: Send) -> Outcome:
    """A read leaves no doubt: whatever went wrong, nothing was changed."""
    try:
        outcome = send(payload, _always)
    except NotSent as reason:
        return Outcome(fate=Fate.FAILED, error=f"not sent: {reason}")
    return replace(outcome, fate=Fate.FAILED) if outcome.fate is Fate.UNKNOWN else outcome


def _write(
    verdict: Verdict, payload: Payload, scope: Scope, *, send: Send, open_way: OpenWay
) -> Outcome:
    """Each sending under a mark of its own: a mark whose deadline passed in a queue is made anew (ruling 6).

    The way is opened before the mark: what dies between a mark and its bytes can never be told apart
    from a write that happened and is not found (ruling 7).
    """
    for _ in range(MOST_MARKS):
        open_way(payload.server)
        may_send = scope.mark_sending(verdict, payload)
        if isinstance(may_send, Outcome):
            return may_send
        try:
            outcome = send(payload, may_send)
        except NotSent:
            continue
        return scope.find_out(verdict, payload) if outcome.fate is Fate.UNKNOWN else outcome
    late = f"not sent: the deadline of {MOST_MARKS} marks passed before the call could leave; nothing happened"
    return Outcome(fate=Fate.FAILED, error=late)


def _always() -> bool:
    return True
