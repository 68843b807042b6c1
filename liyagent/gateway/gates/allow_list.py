"""The tools an agent may use at all."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from liyagent.agents.sub_agents import SUB_AGENTS
from liyagent.gateway.outcome import Call, Posture, Verdict
from liyagent.gateway.policies import PolicySet


def judge(call: Call, policy: PolicySet) -> Verdict | None:
    """Refuse a tool that no pattern of the agent lets in."""
    if is_allowed(call.name, call.asker.tool_patterns):
        return None
    reason = (
        f"Refused (allow list): agent {call.asker.agent} may not use {call.name}; "
        f"its tools are {', '.join(call.asker.tool_patterns) or 'none'}."
    )
    return Verdict(call=call, posture=Posture.REFUSED, gate="allow_list", reason=reason)


def is_allowed(name: str, patterns: Iterable[str]) -> bool:
    """Whether a pattern (`server/tool`, `server/*`, `*`; case counts) matches the whole `server/tool`.

    Sub-agents are let in by patterns that name them as such alone (`agents/triage`, `agents/*`): `*` is all tools.
    """
    if name.startswith(SUB_AGENTS):
        patterns = (it for it in patterns if it.startswith(SUB_AGENTS))
    return any(fnmatchcase(name, pattern) for pattern in patterns)
