"""Remove a workflow."""

from __future__ import annotations

from django.db import transaction

from liyagent.audit.record import record
from liyagent.workflows.errors import RunsGoOn
from liyagent.workflows.listing import find_workflow
from liyagent.workflows.models import Workflow
from liyagent.workflows.save import told_of
from runs.models import Run

MOST_NAMED = 5


def remove_workflow(key: str, *, actor: str) -> None:
    """Remove a workflow with its versions; row and audit row are one transaction.

    What its runs were is kept with them. Raises `WorkflowUnknown`; `RunsGoOn`, naming some, while runs of it have not ended.
    """
    with transaction.atomic(durable=True):
        row = find_workflow(key)
        row = (
            Workflow.objects.select_for_update(of=("self",)).select_related("agent").get(pk=row.pk)
        )
        going = Run.objects.filter(workflow=row.key, ended_at__isnull=True).order_by("-created_at")
        ids = [str(it) for it in going.values_list("id", flat=True)[: MOST_NAMED + 1]]
        if ids:
            more = " and more" if len(ids) > MOST_NAMED else ""
            raise RunsGoOn(
                f"runs of workflow {row.key} have not ended: {', '.join(ids[:MOST_NAMED])}{more}; "
                "wait for them or stop them, or switch the workflow off"
            )
        detail = {"workflow": row.key, "version": row.version, "was": told_of(row)}
        row.delete()
        record("workflow.removed", actor=actor, detail=detail, agent=row.agent.key)
