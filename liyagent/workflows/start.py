"""Start a run of a workflow: as any run is started, with its definition and input pinned in the sealed first part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from jsonschema import Draft202012Validator

from liyagent.core.plain import NotStorable, to_plain
from liyagent.workflows.branches import NAME, PINNED
from liyagent.workflows.errors import InputMisfit, WorkflowOff, WorkflowUnknown
from liyagent.workflows.models import Workflow
from runs.start import NOTHING, Plan, Started, start_run

MOST_INPUT_BYTES = 1 << 20
MOST_TOLD = 10


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
    if schema is None:
        return plain
    found = sorted(Draft202012Validator(schema).iter_errors(plain), key=lambda it: it.json_path)
    if found:
        told = "; ".join(f"input{it.json_path[1:]}: {it.message[:200]}" for it in found[:3])
        misfit = InputMisfit(told)
        misfit.errors = [
            {"field": f"input{it.json_path[1:]}", "detail": it.message[:300]}
            for it in found[:MOST_TOLD]
        ]
        raise misfit
    return plain
