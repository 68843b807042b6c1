"""On whose authority a run goes on, as it stands now (CR-14, CR-17)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection

from liyagent.agents.channels import is_open
from liyagent.agents.containment import is_everything_contained
from liyagent.agents.models import Agent
from liyagent.gateway.outcome import Asker, Rights
from liyagent.gateway.run_as import rights_of
from liyagent.gateway.versioned import ByVersion
from runs.endings import EndError
from runs.models import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentNow:
    """An agent as it stands at a configuration version; what the loop needs of it."""

    key: str
    version: int
    recording: str
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
    max_calls: int
    max_tokens: int
    max_seconds: int
    compensations: dict[str, dict[str, Any]]
    guardrails: dict[str, Any]
    hooks: tuple[str, ...]
    channels: tuple[str, ...]
    run_as: str
    is_contained: bool
    is_all_contained: bool
    is_enabled: bool
    config: int
    asks_itself: bool = False

    def rights(self, started_by: str) -> Rights:
        """Return what the agent may call for whoever started the run."""
        return rights_of(self.run_as or started_by, version=self.config)

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
            contained=self.is_contained or self.is_all_contained or not self.is_enabled,
            asks_itself=self.asks_itself,
        )


def agent_now(key: str, *, config: int) -> AgentNow | None:
    """Return the agent at a configuration version, None if it was removed."""
    return _agents.at(config).get(key)


def newest_config() -> int | None:
    """Return the newest configuration version that this process has read agents at, None if none."""
    return _agents.newest_version()


def refusal_of(run: Run, agent: AgentNow | None) -> tuple[EndError, str] | None:
    """Say why a run may not go on with its agent now, None where it may: removed, contained or switched off."""
    if agent is None:
        return EndError.AGENT_GONE, f"agent {run.agent_key} no longer exists"
    if agent.is_contained:
        return EndError.AGENT_CONTAINED, f"agent {agent.key} is contained"
    if agent.is_all_contained:
        return EndError.AGENT_CONTAINED, f"agent {agent.key} is contained, as everything is"
    if not agent.is_enabled:
        return EndError.AGENT_OFF, f"agent {agent.key} is switched off"
    return None


def refusal_on_resume(
    run: Run, agent: AgentNow, *, is_handed_down: bool
) -> tuple[EndError, str] | None:
    """Say why a run that was handed on may not go on now, None where it may (CR-17).

    Its starter must still be allowed to run agents, its way in be open (that of its root, where its work was handed
    down), and the one it runs as exist and be active.
    """
    try:
        if run.started_by and not _may_operate(run.started_by):
            told = f"{run.started_by}, who started it, may no longer run agents"
            return EndError.STARTER_REFUSED, told
        if not is_handed_down and not is_open(agent.channels, run.entry):
            told = f"agent {agent.key} no longer permits runs by {run.entry}"
            return EndError.CHANNEL_CLOSED, told
        if agent.run_as and not _is_active(agent.run_as):
            told = f"{agent.run_as}, whom agent {agent.key} runs as, is no active user"
            return EndError.RUN_AS_REFUSED, told
        return None
    finally:
        connection.close()


def _may_operate(username: str) -> bool:
    user = get_user_model().objects.filter(username=username, is_active=True).first()
    return user is not None and user.has_perm("agents.operate")


def _is_active(username: str) -> bool:
    return bool(get_user_model().objects.filter(username=username, is_active=True).exists())


def _load(version: int) -> dict[str, AgentNow]:
    is_all_contained = is_everything_contained()
    return {
        it.key: _now(it, is_all_contained=is_all_contained, config=version)
        for it in Agent.objects.all().iterator()
    }


def _now(agent: Agent, *, is_all_contained: bool, config: int) -> AgentNow:
    return AgentNow(
        key=agent.key,
        version=agent.version,
        recording=agent.recording,
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
        max_calls=agent.max_calls,
        max_tokens=agent.max_tokens,
        max_seconds=agent.max_seconds,
        compensations=agent.compensations,
        guardrails=agent.guardrails,
        hooks=tuple(agent.hooks),
        channels=tuple(agent.channels),
        run_as=agent.run_as,
        is_contained=agent.is_contained,
        is_all_contained=is_all_contained,
        is_enabled=agent.is_enabled,
        config=config,
    )


_agents = ByVersion(_load)
