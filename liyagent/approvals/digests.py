"""What a decision is bound to: the very bytes, and what the call could at most use (ruling 23)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from liyagent.core.canonical import digest
from liyagent.gateway.gates import cedar
from liyagent.gateway.gates.allow_list import is_allowed
from liyagent.gateway.outcome import Call, Payload, Verdict
from liyagent.gateway.policies import PolicySet


def approval_digest(verdict: Verdict, payload: Payload) -> str:
    """Return the digest of exactly what is to be sent, our own key aside, and of whose authority it is sent on."""
    asker = verdict.call.asker
    return digest_of(
        server=payload.server,
        tool=payload.tool,
        args={name: value for name, value in payload.args.items() if value != payload.key},
        agent=asker.agent,
        run_as=asker.run_as,
        policy_fingerprint=verdict.policy_fingerprint,
    )


def digest_of(
    *,
    server: str,
    tool: str,
    args: Mapping[str, Any],
    agent: str,
    run_as: str,
    policy_fingerprint: str,
) -> str:
    """Return the digest of a call told by its parts; `args` are without our own key."""
    return digest(["approval", server, tool, dict(args), agent, run_as, policy_fingerprint])


def ceiling_of(call: Call, policy: PolicySet) -> dict[str, Any]:
    """Return the most that a call may use as things stand: the pattern that lets it in, its permission, its policies."""
    patterns = sorted(it for it in call.asker.tool_patterns if is_allowed(call.name, [it]))
    return {
        "patterns": patterns,
        "permission": call.contract.permission if call.contract else "",
        "run_as": call.asker.run_as,
        "policies": list(cedar.decided_by(call, policy)),
    }
