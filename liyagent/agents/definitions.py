"""Save agents by their definitions, version by version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from liyagent.agents.compensations import Wrong, clean_compensations, problems_in_world
from liyagent.agents.errors import AgentInvalid, AgentUnknown, VersionMoved
from liyagent.agents.fields import CHECKS, DEFAULTS, problems_of
from liyagent.agents.models import Agent, AgentVersion
from liyagent.agents.replayed import require_replayed
from liyagent.audit.record import record
from liyagent.core.files import Place

# A release before that changes one field of an agent takes all others from its version, and fails at one it does not know.
NEW = frozenset({"require_replay"})


def save_agent(definition: dict[str, Any], *, actor: str) -> Agent:
    """Save an agent by its key; what a definition leaves out has its default, not its former value.

    The version rises only where something changed; row, version and audit row are one transaction.
    Raises `AgentInvalid` (a `BadInput`) naming every field that is wrong and what it wants.
    """
    return save_checked([_checked(definition)], actor=actor)[0]


def replace_agent(definition: dict[str, Any], *, expected_version: int | None, actor: str) -> Agent:
    """Save an agent as `save_agent` does, where it stands at the version expected; 0: where there is none.

    Raises `AgentInvalid`, `VersionMoved`.
    """
    values = _checked(definition)
    with transaction.atomic():
        return _save(values, actor=actor, expected=expected_version)


def save_compensations(
    key: str, compensations: Any, *, expected_version: int | None, actor: str
) -> Agent:
    """Save how an agent's own writes are undone, as its next version; nothing else of it changes (SG-02).

    Each tool of the map is looked up in the catalogue, also where the map stays as it is. Raises `AgentUnknown`,
    `AgentInvalid` with the JSON path of each problem, `VersionMoved`.
    """
    with transaction.atomic():
        agent = Agent.objects.select_for_update().filter(key=key).first()
        if agent is None:
            raise AgentUnknown(f"there is no agent {key[:80]!r}")
        values = {**definition_of(agent), "compensations": _checked_map(compensations)}
        if wrong := problems_in_world(values, is_whole=True):
            raise AgentInvalid(dict(wrong))
        return _save(values, actor=actor, expected=expected_version)


def save_checked(definitions: Sequence[dict[str, Any]], *, actor: str) -> list[Agent]:
    """Save several full definitions, as `problems_of` returns them, in one transaction."""
    with transaction.atomic():
        return [_save(values, actor=actor) for values in definitions]


def definition_of(agent: Agent) -> dict[str, Any]:
    """Return an agent's definition as its version keeps it; what that version did not know is as the agent's row has it.

    That is its default, or what stood before a release that does not know it saved the agent.
    """
    kept = agent.versions.filter(number=agent.version).values_list("definition", flat=True).first()
    unknown = {name: getattr(agent, name) for name in CHECKS}
    return unknown if kept is None else {**unknown, **kept}


def _checked(definition: dict[str, Any]) -> dict[str, Any]:
    values, problems = problems_of(definition)
    if problems:
        raise AgentInvalid(problems)
    return values


def _checked_map(compensations: Any) -> dict[str, Any]:
    try:
        return clean_compensations(compensations)
    except Wrong as error:
        problems: dict[Place, str] = {
            ("compensations", *place): said for place, said in error.problems
        }
        raise AgentInvalid(problems) from None


def _save(values: dict[str, Any], *, actor: str, expected: int | None = None) -> Agent:
    agent, is_new = Agent.objects.get_or_create(key=values["key"], defaults=values)
    # Locked, so that of two savers at once each gets a version of its own.
    agent = Agent.objects.select_for_update().get(pk=agent.pk)
    standing = 0 if is_new else agent.version
    if expected not in (None, standing):
        raise VersionMoved(
            f"agent {agent.key} is at version {standing}; {expected} was expected"
            if standing
            else f"there is no agent {agent.key}; version {expected} was expected"
        )
    before: dict[str, Any] = {}
    if not is_new:
        before = definition_of(agent)
        if before == values:
            return agent
        require_replayed(agent, before, values)
        for name, value in values.items():
            setattr(agent, name, value)
        agent.version += 1
        agent.save(update_fields=[*values, "version", "updated_at"])
    AgentVersion.objects.create(
        agent=agent, number=agent.version, definition=_kept(values), created_by=actor[:150]
    )
    changed = sorted(name for name in values if is_new or before.get(name) != values[name])
    detail = {"agent": agent.key, "version": agent.version, "changed": changed}
    record("agent.saved", actor=actor, detail=detail)
    if "compensations" in changed and (values["compensations"] or not is_new):
        _record_undos(agent, before.get("compensations", {}), actor=actor)
    return agent


def _kept(values: dict[str, Any]) -> dict[str, Any]:
    """What a version keeps: without what a release before, which saves with it, does not know, unless somebody set it."""
    return {name: it for name, it in values.items() if name not in NEW or it != DEFAULTS[name]}


def _record_undos(agent: Agent, before: dict[str, Any], *, actor: str) -> None:
    """What the map said and says, of each tool whose undo is another."""
    now = agent.compensations
    moved = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    detail = {
        "agent": agent.key,
        "version": agent.version,
        "before": {name: before[name] for name in moved if name in before},
        "after": {name: now[name] for name in moved if name in now},
    }
    record("agent.compensations.changed", actor=actor, detail=detail)
