"""Start a run of a workflow: as any run is started, with its definition and input pinned in the sealed first part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from liyagent.core.plain import NotStorable, to_plain
from liyagent.gateway.misfit import first_misfit
from liyagent.workflows.branches import NAME, PINNED
from liyagent.workflows.errors import InputMisfit, WorkflowOff, WorkflowUnknown
from liyagent.workflows.models import Workflow
from runs.start import NOTHING, Plan, Started, start_run

MOST_INPUT_BYTES = 1 << 20


def start_workflow(
    *,
    key: str,
    given: Any,
    entry: str,
    started_by: str,
    mission: str,
    request_id: str,
    start_key: str = "",
    body_digest: str = "",
    run_id: UUID | None = None,
    told: Mapping[str, Any] = NOTHING,
) -> Started:
    """Store a run of the workflow as it stands now, by its agent; any process's runner takes it.

    `given` is the input, JSON of at most 1 MiB that fits the workflow's own schema. The rest is as in `start_run`. Raises
    `WorkflowUnknown`, `WorkflowOff`, `InputMisfit` naming the path of what does not fit, and what `start_run` raises.
    """
    workflow = Workflow.objects.select_related("agent").filter(key=key).first()
    if workflow is None:
        raise WorkflowUnknown(f"there is no workflow {key[:80]!r}")
    if not workflow.is_enabled:
        raise WorkflowOff(f"workflow {key} is switched off")
    pinned = {
        "key": workflow.key,
        "version": workflow.version,
        "digest": workflow.digest,
        "definition": workflow.definition,
        "input": _checked(given, workflow.definition),
    }
    return start_run(
        agent_key=workflow.agent.key,
        task=f"Run workflow {workflow.key}, version {workflow.version}.",
        entry=entry,
        started_by=started_by,
        mission=mission,
        request_id=request_id,
        start_key=start_key,
        body_digest=body_digest,
        run_id=run_id,
        told={**told, "workflow": workflow.key, "workflow_version": workflow.version},
        plan=Plan(mind=NAME, workflow=workflow.key, facts={PINNED: pinned}),
    )


def _checked(value: Any, definition: Mapping[str, Any]) -> Any:
    try:
        plain = to_plain(value, limit_bytes=MOST_INPUT_BYTES)
    except NotStorable as error:
        raise InputMisfit(f"input cannot be kept: {error}") from error
    schema = definition.get("input")
    if not isinstance(schema, dict):
        if schema is False:
            raise InputMisfit("this workflow takes no input")
        return plain
    found = first_misfit(plain, schema)
    if found is not None:
        path = f"input.{found.path}" if found.path else "input"
        misfit = InputMisfit(f"{path}: {found.reason}")
        misfit.errors = [{"field": path, "detail": found.reason}]
        raise misfit
    return plain
