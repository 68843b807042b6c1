"""Save workflows by their key, version by version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from liyagent.agents.models import Agent
from liyagent.audit.record import record
from liyagent.core.canonical import digest
from liyagent.core.plain import clean_text
from liyagent.workflows.allowed import world_problems
from liyagent.workflows.check import problems_of
from liyagent.workflows.errors import DefinitionWrong, VersionMoved, WorkflowTaken
from liyagent.workflows.fields import field_problems, is_agent_key
from liyagent.workflows.models import Workflow, WorkflowVersion
from liyagent.workflows.told import Problem, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class _Values:
    """What a workflow is to be, checked."""

    key: str
    name: str
    agent: Agent
    definition: dict[str, Any]
    is_enabled: bool
    digest: str


def save_workflow(
    *,
    key: str,
    name: str,
    agent_key: str,
    definition: Any,
    is_enabled: bool = True,
    actor: str,
    expected_version: int | None = None,
) -> Workflow:
    """Create a workflow or replace it as a whole; `definition` is plain JSON.

    As `save_given`.
    """
    given = {"key": key, "name": name, "agent": agent_key, "definition": definition, "is_enabled": is_enabled}  # fmt: skip
    return save_given(given, actor=actor, expected_version=expected_version)


def save_given(
    given: dict[str, Any], *, actor: str, expected_version: int | None = None
) -> Workflow:
    """Save what was given as key, name, agent, definition and, where it is not on, is_enabled.

    The version rises only where something changed; row, version and audit row are one transaction. Runs under way keep
    the definition that they were started with, so no process has to hear of it: the configuration version stays. Raises
    `DefinitionWrong` with the path of each thing that is wrong, what was found and what was meant; where a version is
    expected, `VersionMoved`, and `WorkflowTaken` where 0, none, was.
    """
    with transaction.atomic():
        values, problems = checked(given)
        if values is None:
            raise DefinitionWrong(problems)
        return _save(values, actor=actor, expected=expected_version)


def save_all(given: list[dict[str, Any]], *, actor: str) -> list[Workflow]:
    """Save several workflows as `save_given` does, all or none. Raises `DefinitionWrong` for the first that is wrong."""
    with transaction.atomic():
        return [save_given(it, actor=actor) for it in given]


def checked(given: dict[str, Any]) -> tuple[_Values | None, list[Problem]]:
    """Return what was given as a workflow to be saved, or None and all that is wrong with it. Changes nothing."""
    problems = field_problems(given)
    agent, lost = agent_of(given)
    problems += lost
    if "definition" in given and (problems or not _is_switched_off(given, agent)):
        problems += definition_problems(given["definition"], agent)
    if problems or agent is None:
        return None, problems
    values = _Values(
        key=given["key"],
        name=clean_text(given["name"]),
        agent=agent,
        definition=given["definition"],
        is_enabled=given.get("is_enabled", True),
        digest=digest(given["definition"]),
    )
    return values, []


def agent_of(given: dict[str, Any]) -> tuple[Agent | None, list[Problem]]:
    """Return the agent that what was given names, or None, and that there is none."""
    key = given.get("agent")
    if not is_agent_key(key):
        return None, []
    agent = Agent.objects.filter(key=key).first()
    if agent is None:
        return None, [("agent", f"is {shown(key)}; there is no agent of this key")]
    return agent, []


def _is_switched_off(given: dict[str, Any], agent: Agent | None) -> bool:
    """Whether it is given as it stands, but for being on: that can be done whatever became of what it names."""
    if given.get("is_enabled", True) is not False:
        return False
    row = Workflow.objects.filter(key=given["key"], agent=agent).first()
    if row is None or row.definition != given["definition"]:
        return False
    return digest(given["definition"]) == row.digest


def definition_problems(definition: Any, agent: Agent | None) -> list[Problem]:
    """Return what is wrong with a definition, and, where it has an agent, what it names that the agent cannot use."""
    problems = problems_of(definition)
    if problems or agent is None:
        return problems
    return world_problems(definition, agent)


def _save(values: _Values, *, actor: str, expected: int | None) -> Workflow:
    columns = {
        "name": values.name,
        "agent": values.agent,
        "definition": values.definition,
        "digest": values.digest,
        "is_enabled": values.is_enabled,
    }
    row, is_new = Workflow.objects.get_or_create(key=values.key, defaults=columns)
    # Locked, so that of two savers at once each gets a version of its own.
    row = Workflow.objects.select_for_update(of=("self",)).select_related("agent").get(pk=row.pk)
    _expect(row, expected, standing=0 if is_new else row.version)
    before = {} if is_new else told_of(row)
    if not is_new:
        changed = [name for name, value in columns.items() if getattr(row, name) != value]
        if not changed:
            return row
        for name, value in columns.items():
            setattr(row, name, value)
        row.version += 1
        row.save(update_fields=[*columns, "version", "updated_at"])
    WorkflowVersion.objects.create(
        workflow=row,
        number=row.version,
        agent_key=values.agent.key,
        definition=values.definition,
        digest=values.digest,
        created_by=actor[:150],
    )
    after = told_of(row)
    names = sorted(it for it in after if before.get(it) != after[it])
    detail = {"workflow": row.key, "version": row.version, "changed": names, "before": before, "after": after}  # fmt: skip
    record("workflow.saved", actor=actor, detail=detail, agent=values.agent.key)
    return row


def _expect(row: Workflow, expected: int | None, *, standing: int) -> None:
    if expected in (None, standing):
        return
    if expected == 0:
        raise WorkflowTaken(f"there is a workflow {row.key} already, at version {standing}")
    if standing:
        raise VersionMoved(f"workflow {row.key} is at version {standing}; {expected} was expected")
    raise VersionMoved(f"there is no workflow {row.key}; version {expected} was expected")


def told_of(row: Workflow) -> dict[str, Any]:
    """Return what the audit log tells of a workflow: a definition by its digest, its words are in its versions."""
    return {"name": row.name, "agent": row.agent.key, "is_enabled": row.is_enabled, "digest": row.digest}  # fmt: skip
