"""What is told of a call as it is settled: its event, its span, its audit row."""

from __future__ import annotations

from typing import Any

from liyagent.gateway.outcome import Call, Fate, Outcome, Payload, Verdict
from liyagent.telemetry.spans import current_span
from runs import hot
from runs.checkpoint import Checkpoint

WENT_WRONG = frozenset({Fate.FAILED, Fate.UNKNOWN})


def told_of_call(
    checkpoint: Checkpoint,
    verdict: Verdict,
    payload: Payload | None,
    outcome: Outcome,
    *,
    step: int,
) -> dict[str, Any]:
    """Return what its event tells: words only where the run is recorded in full."""
    call, words = verdict.call, checkpoint.events.words
    return {
        "step": step,
        "index": call.index,
        "server": call.server,
        "tool": call.tool,
        "effect": _effect(call),
        "fate": outcome.fate.value,
        "posture": verdict.posture.value,
        "gate": verdict.gate,
        "policy": verdict.policy_fingerprint,
        "run_as": call.asker.run_as,
        "key": outcome.key,
        "settlement": outcome.settlement,
        "ms": outcome.duration_ms,
        "args": words(_left(call, payload)),
        "result": words(outcome.error or outcome.result),
    }


def tell_span_of_call(verdict: Verdict, payload: Payload | None, outcome: Outcome) -> None:
    """Of words what the event has: what data policies left of them."""
    told, call = current_span(), verdict.call
    if not told:
        return
    told.tell(
        operation="execute_tool",
        tool=call.name if call.contract is not None else None,
        effect=_effect(call),
        posture=verdict.posture.value,
        gate=verdict.gate,
        fate=outcome.fate.value,
        settlement=outcome.settlement,
        step_key=outcome.key,
    )
    told.tell_words(arguments=_left(call, payload), result=outcome.error or outcome.result)
    if outcome.fate in WENT_WRONG:
        told.fail(outcome.fate.value)


def audit_of_call(call: Call, outcome: Outcome, *, step: int) -> hot.Audit:
    """Return the audit row of one that was in doubt."""
    detail = {
        "step": step,
        "index": call.index,
        "call": call.name,
        "fate": outcome.fate.value,
        "settlement": outcome.settlement,
        "key": outcome.key,
    }
    return hot.Audit(action="agent.call.settled", detail=detail)


def args_without_key(payload: Payload) -> dict[str, Any]:
    """Return what left, or would have, but for our own key: told and digested, so that a masked word is nowhere."""
    return {name: value for name, value in payload.args.items() if value != payload.key}


def _left(call: Call, payload: Payload | None) -> dict[str, Any]:
    return call.args if payload is None else args_without_key(payload)


def _effect(call: Call) -> str:
    return "write" if call.writes else "read"
