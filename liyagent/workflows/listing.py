"""Workflows by key, and the versions of one, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping

from liyagent.core.errors import BadInput
from liyagent.core.paging import (
    PAGING,
    Page,
    bad_cursor,
    check_names,
    limit_of,
    page_by,
    read_cursor,
    write_cursor,
)
from liyagent.workflows.errors import VersionUnknown, WorkflowUnknown
from liyagent.workflows.models import Workflow, WorkflowVersion

TRUTHS = {"true": True, "false": False}
MOST_VERSION = 2**31 - 1


def list_workflows(asked: Mapping[str, str]) -> Page[Workflow]:
    """Return the page that `asked` names, by key, without definitions. Raises `BadInput` naming what is allowed."""
    check_names(asked, ("agent", "enabled", *PAGING))
    rows = Workflow.objects.select_related("agent").defer("definition")
    if "agent" in asked:
        rows = rows.filter(agent__key=asked["agent"].replace("\x00", ""))
    if "enabled" in asked:
        if asked["enabled"] not in TRUTHS:
            raise BadInput(f"enabled is {asked['enabled'][:80]!r}; it wants true or false")
        rows = rows.filter(is_enabled=TRUTHS[asked["enabled"]])
    return page_by(rows, asked, field="key")


def find_workflow(key: str) -> Workflow:
    """Return a workflow by its key, with its agent. Raises `WorkflowUnknown`."""
    found = Workflow.objects.filter(key=key.replace("\x00", "")).select_related("agent").first()
    if found is None:
        raise WorkflowUnknown(f"there is no workflow {key[:80]!r}")
    return found


def list_versions(key: str, asked: Mapping[str, str]) -> Page[WorkflowVersion]:
    """Return the page of versions that `asked` names, newest first, without definitions. Raises `WorkflowUnknown`, `BadInput`."""
    check_names(asked, PAGING)
    limit = limit_of(asked)
    rows = WorkflowVersion.objects.filter(workflow=find_workflow(key)).select_related("workflow")
    rows = rows.defer("definition", "workflow__definition").order_by("-number")
    if "cursor" in asked:
        (last,) = read_cursor(asked["cursor"], parts=1)
        if not (last.isascii() and last.isdigit() and len(last) < 11):
            raise bad_cursor()
        rows = rows.filter(number__lt=int(last))
    found = list(rows[: limit + 1])
    has_more = len(found) > limit
    return Page(
        rows=found[:limit],
        next_cursor=write_cursor([str(found[limit - 1].number)]) if has_more else "",
    )


def find_version(key: str, number: int) -> WorkflowVersion:
    """Return one version of a workflow. Raises `WorkflowUnknown`, `VersionUnknown`."""
    workflow = find_workflow(key)
    rows = WorkflowVersion.objects.select_related("workflow").filter(workflow=workflow)
    version = rows.filter(number=number).first() if number <= MOST_VERSION else None
    if version is None:
        raise VersionUnknown(
            f"workflow {workflow.key} has no version {number}; its newest is {workflow.version}"
        )
    return version
