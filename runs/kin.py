"""What is told of a run's children: the runs that it handed work to, and those that made what was approved after it went on."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from runs.models import Run

MOST_CHILDREN = 100
CHILD_FACTS = ("id", "agent_key", "status", "reason", "error", "loop", "created_at", "ended_at")


def children_of(run: Run) -> tuple[list[dict[str, Any]], bool]:
    """Return the run's children, the oldest first, at most 100, and whether there are more.

    `loop` is the key of the call that asked for it, as the call's `step_key` tells it.
    """
    rows = below(run).order_by("created_at", "id").values(*CHILD_FACTS)
    found = [{**row, "agent": row.pop("agent_key")} for row in rows[: MOST_CHILDREN + 1]]
    return found[:MOST_CHILDREN], len(found) > MOST_CHILDREN


def below(run: Run) -> QuerySet[Run]:
    """Return the rows of a run's children: an index leads to them by their chain."""
    return Run.objects.filter(correlation_id=run.correlation_id, parent_id=run.id)
