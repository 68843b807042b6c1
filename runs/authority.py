"""On whose authority a run goes on, as it stands now (CR-14, CR-17)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.contrib.auth import get_user_model
from django.db import connection

from liyagent.agents.models import Agent
from liyagent.gateway.outcome import Asker
from liyagent.gateway.run_as import rights_of
from liyagent.gateway.versioned import ByVersion
from runs.endings import EndError
from runs.models import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentNow:
    """An agent as it stands at a configuration version; what the loop needs of it."""

    key: str
    provider: str
    base_url: str
    api_key_env: str
    model: str
    model_timeout_seconds: float
    instructions: str
    is_streaming: bool
    max_answer_tokens: int
    tool_patterns: tuple[str, ...]
    write_posture: str
    may_wait: bool
    max_steps: int
    run_as: str
    is_contained: bool
    is_enabled: bool
    config: int = 0

    def asker(self, run: Run) -> Asker:
        """Return what the gates know of the agent and the run."""
        principal = self.run_as or run.started_by
        return Asker(
            agent=self.key,
            tool_patterns=self.tool_patterns,
            write_posture=self.write_posture,
            run_as=principal,
            rights=rights_of(principal, version=self.config),
            entry=run.entry,
            mission=run.mission,
            may_wait=self.may_wait,
            contained=self.is_contained or not self.is_enabled,
        )


def agent_now(key: str, *, config: int) -> AgentNow | None:
    """Return the agent at a configuration version, None if it was removed."""
    agent = _agents.at(config).get(key)
    return replace(agent, config=config) if agent is not None else None


def refusal_of(run: Run, agent: AgentNow | None) -> tuple[EndError, str] | None:
    """Say why a run may not go on with its agent now, None where it may: removed, contained or switched off."""
    if agent is None:
        return EndError.AGENT_GONE, f"agent {run.agent_key} no longer exists"
    if agent.is_contained:
        return EndError.AGENT_CONTAINED, f"agent {agent.key} is contained"
    if not agent.is_enabled:
        return EndError.AGENT_OFF, f"agent {agent.key} is switched off"
    return None


def starter_refusal(run: Run) -> str:
    """Say why the one who started a run may not have it resumed, "" where they may (CR-17)."""
    if not run.started_by or _is_active(run.started_by):
        return ""
    return f"{run.started_by}, who started it, may no longer run agents"


def _is_active(username: str) -> bool:
    try:
        user = get_user_model().objects.filter(username=username, is_active=True).first()
        return user is not None and user.has_perm("agents.operate")
    finally:
        connection.close()


def _load() -> dict[str, AgentNow]:
    return {agent.key: _now(agent) for agent in Agent.objects.all().iterator()}


def _now(agent: Agent) -> AgentNow:
    return AgentNow(
        key=agent.key,
        provider=agent.provider,
        base_url=agent.base_url,
        api_key_env=agent.api_key_env,
        model=agent.model,
        model_timeout_seconds=agent.model_timeout_seconds,
        instructions=agent.instructions,
        is_streaming=agent.is_streaming,
        max_answer_tokens=agent.max_answer_tokens,
        tool_patterns=tuple(agent.tool_patterns),
        write_posture=agent.write_posture,
        may_wait=agent.may_wait,
        max_steps=agent.max_steps,
        run_as=agent.run_as,
        is_contained=agent.is_contained,
        is_enabled=agent.is_enabled,
    )


_agents = ByVersion(_load)
