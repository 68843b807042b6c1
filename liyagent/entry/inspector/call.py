"""Call a tool by hand: as the person who asks, or as an agent would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from liyagent.agents.channels import is_open
from liyagent.agents.containment import is_everything_contained
from liyagent.agents.errors import AgentUnknown
from liyagent.agents.models import ConfigVersion, WritePosture
from liyagent.agents.sub_agents import SERVER
from liyagent.entry.inspector.errors import (
    ArgsMisfit,
    CallRefused,
    ToolUnknown,
    WriteNotPermitted,
)
from liyagent.entry.inspector.scope import AdHocScope
from liyagent.gateway.active import active_policy
from liyagent.gateway.call import make_call
from liyagent.gateway.contracts import contracts_for
from liyagent.gateway.misfit import first_misfit
from liyagent.gateway.outcome import Asker, Call, Contract, Effect, Outcome, Posture
from liyagent.gateway.run_as import rights_of
from runs.authority import agent_now
from runs.models import Run

INSPECTOR = "inspector"
EVERY_TOOL = ("*",)
HANDED_DOWN = (
    "work is handed to an agent by a run alone, which waits for it; start one of your own: "
    "POST /api/agents/{agent}/runs"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls. `may_write`: whether tools that write may be called at all."""

    username: str
    may_write: bool
    mission: str
    request_id: str


def call_tool(
    *, server: str, tool: str, args: dict[str, Any], caller: Caller, agent_key: str = ""
) -> Outcome:
    """Make one call under a fresh key and return what became of it; it is never sent twice.

    Without an agent the gates know it as agent `inspector`, which may use every tool, as the caller; with one, as
    that agent's, its allow list, posture and run-as included. Raises `ToolUnknown`, `AgentUnknown`, `ArgsMisfit`,
    `WriteNotPermitted`, and `CallRefused` that names the gate.
    """
    if server == SERVER:
        raise CallRefused(HANDED_DOWN.format(agent=tool), gate="delegation")
    version = ConfigVersion.objects.values_list("version", flat=True).get()
    contract = contracts_for(EVERY_TOOL, version=version).get(f"{server}/{tool}")
    if contract is None:
        raise ToolUnknown(f"there is no tool {server}/{tool} on an enabled server")
    asker = _asker(agent_key, caller=caller, version=version)
    _check(args, contract=contract, caller=caller)
    scope = AdHocScope(
        actor=caller.username,
        mission=caller.mission,
        request_id=caller.request_id,
        version=version,
    )
    call = Call(
        server=server,
        tool=tool,
        args=args,
        index=0,
        provider_call_id="",
        contract=contract,
        asker=asker,
    )
    outcome = make_call(call, scope, policy=active_policy(version=version))
    verdict = scope.verdict
    if verdict is not None and verdict.posture is not Posture.POSTURE:
        raise CallRefused(verdict.reason, gate=verdict.gate)
    return outcome


def _check(args: dict[str, Any], *, contract: Contract, caller: Caller) -> None:
    if contract.effect is not Effect.READ and not caller.may_write:
        raise WriteNotPermitted(
            f"{contract.name} writes, which needs the permission agents.operate"
        )
    found = first_misfit(args, contract.schema) if contract.schema else None
    if found is not None:
        raise ArgsMisfit(path=found.path, reason=found.reason)


def _asker(agent_key: str, *, caller: Caller, version: int) -> Asker:
    if not agent_key:
        return Asker(
            agent=INSPECTOR,
            tool_patterns=EVERY_TOOL,
            write_posture=WritePosture.ALLOW,
            run_as=caller.username,
            rights=rights_of(caller.username, version=version),
            entry=INSPECTOR,
            mission=caller.mission,
            contained=is_everything_contained(),
        )
    agent = agent_now(agent_key, config=version)
    if agent is None:
        raise AgentUnknown(f"there is no agent {agent_key!r}")
    if not is_open(agent.channels, INSPECTOR):
        raise CallRefused(f"agent {agent_key} is not open to the inspector", gate="channel")
    # What a run of this agent, started here by this person, would be asked as.
    return agent.asker(
        Run(
            agent_key=agent_key,
            entry=INSPECTOR,
            started_by=caller.username,
            mission=caller.mission,
        )
    )
