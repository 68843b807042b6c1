"""The runs of an agent as the event log has them, a page at a time, in as many statements whatever the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection

from events.reading import STORED_AT
from liyagent.agents.errors import AgentUnknown
from liyagent.agents.models import Agent
from liyagent.core.paging import PAGING, check_names
from runs.listing import list_runs
from runs.models import Run

# Of each chain: how many events, and when the last was written: found by its number, so no chain is read.
CHAINS = f"""
SELECT h.correlation_id, h.count, (SELECT {STORED_AT} FROM events_runevent e
        WHERE e.correlation_id = h.correlation_id AND e.number = h.count)
    FROM events_eventhead h WHERE h.correlation_id = ANY(%s)
"""  # noqa: S608 - a constant


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRuns:
    """A page of runs; no verdict is computed for a list. `next_cursor` is empty at the end."""

    runs: list[dict[str, Any]]
    next_cursor: str


def logged_runs(key: str, asked: dict[str, str]) -> LoggedRuns:
    """Return a page of an agent's runs, the newest first. Raises `AgentUnknown`, `BadInput`.

    `count` and `last_at` are of the run's chain: those of its root and of all that work for it. `is_recorded` is false where
    nothing is kept of it any more, or nothing ever was.
    """
    check_names(asked, PAGING)
    if (
        not Agent.objects.filter(key=key).exists()
        and not Run.objects.filter(agent_key=key).exists()
    ):
        raise AgentUnknown(f"there is no agent {key!r}, and no run of one")
    page = list_runs({**asked, "agent": key})
    with connection.cursor() as cursor:
        cursor.execute(CHAINS, [list({it.correlation_id for it in page.runs})])
        chains = {chain: (count, at) for chain, count, at in cursor.fetchall()}
    return LoggedRuns(
        runs=[_told(it, *chains.get(it.correlation_id, (0, None))) for it in page.runs],
        next_cursor=page.next_cursor,
    )


def _told(run: Run, count: int, last_at: Any) -> dict[str, Any]:
    return {
        "run_id": run.id,
        "correlation_id": run.correlation_id,
        "mission": run.mission,
        "status": run.status,
        "is_ended": run.is_ended,
        "is_recorded": count > 0,
        "count": count,
        "events_missing": run.events_missing,
        "created_at": run.created_at,
        "ended_at": run.ended_at,
        "last_at": last_at,
    }
