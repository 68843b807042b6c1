"""What the page of a workflow tells of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db.models import QuerySet

from liyagent.workflows.allowed import world_problems
from liyagent.workflows.load import in_order, to_yaml
from liyagent.workflows.models import Workflow, WorkflowVersion
from liyagent.workflows.picture import anchor, box_id, picture_of
from liyagent.workflows.words import StepTold, steps_in_words
from runs.head import BODIES
from runs.models import Run

MOST_RUNS = 20
MOST_VERSIONS = 10
MOST_NAMED = 8
MOST_REFUSED = 20


class StepRow(NamedTuple):
    """A line of the table of steps."""

    number: int
    told: StepTold
    anchor: str
    box: str


class VersionRow(NamedTuple):
    """A line of the table of versions."""

    row: WorkflowVersion
    changed: str


def about(workflow: Workflow, *, sees_runs: bool) -> dict[str, Any]:
    """Return what the page shows of a workflow above the form that changes it."""
    definition = workflow.definition
    steps = [
        StepRow(number, it, anchor(it.key), box_id(it.key))
        for number, it in enumerate(steps_in_words(definition), 1)
    ]
    types = Counter(it.told.type for it in steps)
    refused = world_problems(definition, workflow.agent)
    runs = list(runs_of(workflow.key)[: MOST_RUNS + 1]) if sees_runs else []
    return {
        "workflow": workflow,
        "picture": picture_of(definition),
        "steps": steps,
        "types": ", ".join(f"{count} {kind}" for kind, count in types.most_common()),
        "undone": sum(bool(it.told.undo) for it in steps),
        "on_failure": on_failure_told(definition),
        "refused": refused[:MOST_REFUSED],
        "runs": runs[:MOST_RUNS],
        "has_more_runs": len(runs) > MOST_RUNS,
        "sees_runs": sees_runs,
        "versions": versions_of(workflow),
        "definition": to_yaml(in_order(definition)),
    }


def runs_of(key: str) -> QuerySet[Run]:
    """Return the runs of a workflow, newest first, without their words."""
    return Run.objects.filter(workflow=key).defer(*BODIES).order_by("-created_at", "-id")


def on_failure_told(definition: Mapping[str, Any]) -> str:
    """Say in words what happens when a run of it fails."""
    told = definition.get("on_failure", {})
    undone = "what it did is undone, newest first" if told.get("compensate", True) else "what it did is kept"  # fmt: skip
    if told.get("undo_as_agent") and told.get("compensate", True):
        undone += " (a step that does not say how, as its agent's own writes are)"
    handed = {
        "approval": "a person is asked whether it shall run again",
        "ticket": "a ticket is filed",
        "none": "nobody is told",
        "": "it is handed to a person as the setting TICKETIQ_SAGA_HANDOFF says",
    }[told.get("handoff", "")]
    stopped = "; a stopped one keeps what it did" if told.get("on_stop") == "keep" else ""
    return f"When a run fails, {undone}, and {handed}{stopped}."


def versions_of(workflow: Workflow) -> list[VersionRow]:
    """Return the last versions, newest first, each with the steps that it changed."""
    rows = list(workflow.versions.order_by("-number")[: MOST_VERSIONS + 1])
    before: list[WorkflowVersion | None] = [*rows[1:], None]
    told = [
        VersionRow(row, _changed(earlier, row)) for row, earlier in zip(rows, before, strict=True)
    ]
    return told[:MOST_VERSIONS]


def _changed(earlier: WorkflowVersion | None, row: WorkflowVersion) -> str:
    if earlier is None:
        return "all of it" if row.number == 1 else "not known any more"
    was, now = (
        {step["id"]: step for step in it.definition.get("steps", ())} for it in (earlier, row)
    )
    parts = [
        ("steps added", [it for it in now if it not in was]),
        ("steps removed", [it for it in was if it not in now]),
        ("steps changed", [it for it in now if it in was and now[it] != was[it]]),
        (
            "also changed",
            [
                it
                for it in sorted({*earlier.definition, *row.definition} - {"steps"})
                if earlier.definition.get(it) != row.definition.get(it)
            ],
        ),
    ]
    told = [f"{what}: {_names(names)}" for what, names in parts if names]
    if earlier.agent_key != row.agent_key:
        told.append(f"agent: {earlier.agent_key} → {row.agent_key}")
    if not told:
        same = list(was) == list(now)
        told = ["its name, or whether it is switched on" if same else "the order of its steps"]
    return "; ".join(told)


def _names(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
