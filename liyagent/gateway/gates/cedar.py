"""The Cedar policies: anything but a clean Allow refuses the call."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import cedarpy

from liyagent.gateway.outcome import Call, Effect, Posture, Verdict
from liyagent.gateway.policies import PolicySet

# In Cedar's JSON these names turn an object into an entity or a function call: never by a model's word.
RESERVED = frozenset({"__entity", "__extn", "__expr"})
NO_POLICY = (
    "no policy is in force, so every call is refused; add one with `manage.py policies load FILE`"
)


# Letters of patterns times letters of the longest text: some three seconds in which nothing else of the process runs.
MOST_MATCHING = 2_000_000_000


class NotJudgeable(ValueError):
    """The arguments have a name that Cedar would read as something else, or it would take long to match them."""


def judge(call: Call, policy: PolicySet) -> Verdict | None:
    """Refuse what no policy permits, what one forbids, and whatever could not be decided."""
    reason = _refusal(call, policy)
    if not reason:
        return None
    return Verdict(
        call=call,
        posture=Posture.REFUSED,
        gate="cedar",
        reason=f"Refused (Cedar policy): {reason}.",
    )


def decided_by(call: Call, policy: PolicySet) -> tuple[str, ...]:
    """Return the ids of the policies that permit or forbid the call; none where it could not be decided."""
    if policy.fault or policy.is_empty:
        return ()
    try:
        answer = _answer(call, policy)
    except NotJudgeable:
        return ()
    return () if answer.diagnostics.errors else tuple(sorted(answer.diagnostics.reasons))


def _answer(call: Call, policy: PolicySet) -> cedarpy.AuthzResult:
    longest = _longest_text(call.args) if policy.like_letters else 0
    if longest * policy.like_letters > MOST_MATCHING:
        raise NotJudgeable(
            f"an argument has {longest} characters, too many to be held against the policies' `like` patterns"
        )
    return cedarpy.is_authorized(_request(call), policy.cedar, _entities(call.server, call.tool))


def _refusal(call: Call, policy: PolicySet) -> str:
    if policy.fault or policy.is_empty:
        return policy.fault or NO_POLICY
    try:
        answer = _answer(call, policy)
    except NotJudgeable as error:
        return str(error)
    # A policy that could not be evaluated is skipped by Cedar, a forbid too: so any error refuses.
    if answer.diagnostics.errors:
        return f"the policies could not be evaluated: {'; '.join(answer.diagnostics.errors)}"
    if answer.decision is cedarpy.Decision.Allow:
        return ""
    if answer.diagnostics.reasons:
        return f"{', '.join(sorted(answer.diagnostics.reasons))} forbids {_described(call)}"
    if call.is_own_work:
        # Nobody gains by it what a policy would have to give: each call of who takes it over is judged here.
        return ""
    return f"no policy permits {_described(call)}; {_how_to_permit(call)}"


def _described(call: Call) -> str:
    return f"agent {call.asker.agent} to call {call.name} ({_effect(call)})"


def _how_to_permit(call: Call) -> str:
    reads = "" if call.writes else " --reads-only"
    return f"an operator permits it with `manage.py policies permit {call.asker.agent} {call.name}{reads}`"


def _effect(call: Call) -> str:
    return (Effect.WRITE if call.writes else Effect.READ).value


def _request(call: Call) -> dict[str, Any]:
    return {
        "principal": {"type": "Agent", "id": call.asker.agent},
        "action": {"type": "Action", "id": "call"},
        "resource": {"type": "Tool", "id": call.name},
        "context": {
            "run_as": call.asker.run_as,
            "entry": call.asker.entry,
            "mission": call.asker.mission,
            "effect": _effect(call),
            "delegated_by": list(call.asker.delegated_by),
            "args": _value(call.args),
        },
    }


@lru_cache(maxsize=4096)
def _entities(server: str, tool: str) -> cedarpy.Entities:
    resource = {
        "uid": {"type": "Tool", "id": f"{server}/{tool}"},
        "attrs": {},
        "parents": [{"type": "Server", "id": server}],
    }
    return cedarpy.Entities.from_json_str(json.dumps([resource]))


def _longest_text(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max(map(_longest_text, inner), default=0)


def _value(value: Any) -> Any:
    """Plain JSON as Cedar takes it: numbers as strings, nulls left out."""
    if isinstance(value, dict):
        if not RESERVED.isdisjoint(value):
            raise NotJudgeable(
                f"an argument is named {', '.join(sorted(RESERVED & value.keys()))}, which cannot be judged"
            )
        return {key: _value(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_value(item) for item in value if item is not None]
    if isinstance(value, bool | str):
        return value
    return json.dumps(value)
