"""Save, contain and release agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from liyagent.agents.errors import AgentNotContained, AgentUnknown
from liyagent.agents.fields import problems_of
from liyagent.agents.models import Agent, AgentVersion
from liyagent.audit.record import record
from liyagent.core.errors import BadInput, Conflict
from liyagent.core.plain import clean_text

LONGEST_REASON = 500


def save_agent(definition: dict[str, Any], *, actor: str) -> Agent:
    """Save an agent by its key; what a definition leaves out has its default, not its former value.

    The version rises only where something changed; row, version and audit row are one transaction.
    Raises `BadInput` naming every field that is wrong and what it wants.
    """
    return save_agents([(definition, "")], actor=actor)[0]


def save_agents(definitions: Sequence[tuple[dict[str, Any], str]], *, actor: str) -> list[Agent]:
    """Save several in one transaction; beside each its path, which an error names first."""
    checked = [_checked(definition, path) for definition, path in definitions]
    with transaction.atomic():
        return [_save(values, actor=actor) for values in checked]


def contain_agent(key: str, *, actor: str, reason: str) -> None:
    """Let nothing of an agent start, resume or send. Raises `AgentUnknown`, `BadInput`, `Conflict`."""
    reason = clean_text(reason).strip()
    if not 1 <= len(reason) <= LONGEST_REASON:
        raise BadInput(f"the reason of a containment wants 1 to {LONGEST_REASON} characters")
    with transaction.atomic():
        rows = Agent.objects.filter(key=key, is_contained=False).update(
            is_contained=True, contained_by=actor[:150], contained_reason=reason
        )
        if rows != 1:
            _require(key)
            raise Conflict(f"agent {key} is contained already")
        record("agent.contained", actor=actor, detail={"agent": key, "reason": reason})


def release_agent(key: str, *, actor: str) -> None:
    """End a containment. Raises `AgentUnknown`, `AgentNotContained`."""
    with transaction.atomic():
        rows = Agent.objects.filter(key=key, is_contained=True).update(
            is_contained=False, contained_by="", contained_reason=""
        )
        if rows != 1:
            _require(key)
            raise AgentNotContained(f"agent {key} is not contained")
        record("agent.released", actor=actor, detail={"agent": key})


def _require(key: str) -> None:
    if not Agent.objects.filter(key=key).exists():
        raise AgentUnknown(f"there is no agent {key!r}")


def _checked(definition: dict[str, Any], path: str) -> dict[str, Any]:
    values, problems = problems_of(definition)
    if problems:
        told = "; ".join(f"{path}{name} {problem}" for name, problem in problems.items())
        raise BadInput(told)
    return values


def _save(values: dict[str, Any], *, actor: str) -> Agent:
    agent, is_new = Agent.objects.get_or_create(key=values["key"], defaults=values)
    # Locked, so that of two savers at once each gets a version of its own.
    agent = Agent.objects.select_for_update().get(pk=agent.pk)
    before: dict[str, Any] = {}
    if not is_new:
        kept = agent.versions.filter(number=agent.version)
        before = kept.values_list("definition", flat=True).first() or {}
        if before == values:
            return agent
        for name, value in values.items():
            setattr(agent, name, value)
        agent.version += 1
        agent.save(update_fields=[*values, "version", "updated_at"])
    AgentVersion.objects.create(
        agent=agent, number=agent.version, definition=values, created_by=actor[:150]
    )
    changed = sorted(name for name in values if is_new or before.get(name) != values[name])
    detail = {"agent": agent.key, "version": agent.version, "changed": changed}
    record("agent.saved", actor=actor, detail=detail)
    return agent
