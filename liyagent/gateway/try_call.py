"""What the gates would say of a call, asked without making it: nothing is sent, kept or audited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from liyagent.agents.errors import AgentUnknown
from liyagent.agents.models import Agent, ConfigVersion
from liyagent.agents.sub_agents import SUB_AGENTS
from liyagent.gateway.active import active_policy
from liyagent.gateway.approve import find_tool
from liyagent.gateway.contracts import EVERY_TOOL, contracts_for
from liyagent.gateway.gates import cedar
from liyagent.gateway.judge import GATES, judge
from liyagent.gateway.misfit import misfit
from liyagent.gateway.outcome import Above, Asker, Call, Contract, Posture, Verdict
from liyagent.gateway.policies import PolicySet, check_policies, parse_policies
from liyagent.gateway.run_as import rights_of

Gate = Callable[[Call, PolicySet], Verdict | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSaid:
    """What one gate says by itself; `posture` and no reason where it lets the call through untouched."""

    gate: str
    posture: Posture
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The verdict, and what it is made of. `policies`: the ids of the Cedar policies that decided."""

    verdict: Verdict
    gates: tuple[GateSaid, ...]
    policies: tuple[str, ...]


def try_call(
    *,
    agent_key: str,
    tool: str,
    args: dict[str, Any],
    started_by: str = "",
    entry: str = "api",
    mission: str = "",
    delegated_by: Sequence[str] = (),
    policy_text: str | None = None,
) -> Trial:
    """Judge a call of `server/tool` as a run of the agent that `started_by` started would have it judged now.

    `agents/<key>` hands work to an agent. `delegated_by` are the agents that handed down the work of that run, from the
    root's on: they bind it as they would. `policy_text` is a draft that takes the place of the Cedar set in force; data
    policies stay. Raises `AgentUnknown`, `NotFound` for a tool that no catalogue has named, `BadInput` with the line of a
    draft.
    """
    config = ConfigVersion.objects.get(pk=1)
    policy = active_policy(version=config.version)
    if policy_text is not None:
        check_policies(policy_text)
        policy = replace(parse_policies(policy_text), data=policy.data)
    agent = Agent.objects.filter(key=agent_key).first()
    if agent is None:
        raise AgentUnknown(f"there is no agent {agent_key[:80]!r}")
    known = tool if tool.startswith(SUB_AGENTS) else str(find_tool(tool))
    # Of all tools: that the agent may not use it is better said by the allow list than as an unknown tool.
    contract = contracts_for(EVERY_TOOL, version=config.version).get(known)
    principal = agent.run_as or started_by
    asker = Asker(
        agent=agent.key,
        tool_patterns=tuple(agent.tool_patterns),
        write_posture=agent.write_posture,
        run_as=principal,
        rights=rights_of(principal, version=config.version),
        entry=entry,
        mission=mission,
        may_wait=agent.may_wait,
        contained=agent.is_contained or config.is_contained or not agent.is_enabled,
    )
    asker = _bound(asker, delegated_by, started_by=started_by, version=config.version)
    return _tried(_call(known, args, contract, asker), policy)


def _bound(asker: Asker, delegated_by: Sequence[str], *, started_by: str, version: int) -> Asker:
    above = {it.key: it for it in Agent.objects.filter(key__in=delegated_by)}
    unknown = [key for key in delegated_by if key not in above]
    if unknown:
        raise AgentUnknown(f"there is no agent {unknown[0][:80]!r}")
    return asker.bound_by(
        [
            Above(
                agent=key,
                write_posture=above[key].write_posture,
                rights=rights_of(above[key].run_as or started_by, version=version),
                is_held_back=above[key].is_contained or not above[key].is_enabled,
            )
            for key in delegated_by
        ]
    )


def _call(name: str, args: dict[str, Any], contract: Contract | None, asker: Asker) -> Call:
    server, _, tool = name.partition("/")
    return Call(
        server=server,
        tool=tool,
        args=args,
        index=0,
        provider_call_id="try",
        contract=contract,
        asker=asker,
        problem=misfit(args, contract.schema) if contract is not None and contract.schema else "",
    )


def _tried(call: Call, policy: PolicySet) -> Trial:
    said = []
    left = call
    for gate in GATES:
        verdict = gate(left, policy)
        said.append(_said(gate, verdict))
        if verdict is not None and verdict.posture is Posture.POSTURE:
            left = verdict.call
    return Trial(
        verdict=judge(call, policy), gates=tuple(said), policies=cedar.decided_by(call, policy)
    )


def _said(gate: Gate, verdict: Verdict | None) -> GateSaid:
    name = gate.__module__.rpartition(".")[2]
    if verdict is None:
        return GateSaid(gate=name, posture=Posture.POSTURE, reason="")
    return GateSaid(gate=name, posture=verdict.posture, reason=verdict.reason)
