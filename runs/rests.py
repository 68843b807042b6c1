"""What a run that is at rest rests for, where no person is asked: a time, a signal, its branches, a further try."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from events.content import content_of, some_text, whole_number
from liyagent.core.moments import shown_now
from liyagent.core.tables import visible
from runs.models import Run, RunStatus
from runs.undo_run import is_undo_run

AT_REST = (RunStatus.QUEUED, RunStatus.WAITING)
# The newest word of each on what it is at; no chain is read further back than to it.
LAST_TOLD = """
SELECT r.id, e.kind, left(e.content, 4000), (SELECT count(*) FROM (SELECT 1 FROM runs_run c
        WHERE c.correlation_id = r.correlation_id AND c.parent_id = r.id AND c.ended_at IS NULL LIMIT 100) AS it)
    FROM runs_run r LEFT JOIN LATERAL (
        SELECT o.kind, o.content FROM events_runevent o WHERE o.correlation_id = r.correlation_id AND o.run_id = r.id
            AND o.kind IN ('workflow.waiting', 'workflow.step', 'retry', 'tool.call')
        ORDER BY o.number DESC LIMIT 1) AS e ON true
    WHERE r.id = ANY(%s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """`until` is None where no time ends it; `what` says for what, "" where nobody knows.

    `is_signal`: a signal wakes it, and at `until` its step fails for want of one.
    """

    until: datetime | None
    what: str
    is_signal: bool = False


def rests_of(runs: Iterable[Run]) -> dict[UUID, Rest]:
    """Return what those of these runs rest for that are at rest: one statement, none where none is."""
    now = shown_now()
    resting = {
        it.id: it
        for it in runs
        if it.status == RunStatus.WAITING
        or (it.status == RunStatus.QUEUED and it.not_before is not None and it.not_before > now)
    }
    if not resting:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(LAST_TOLD, [list(resting)])
        rows = cursor.fetchall()
    found = {}
    for run_id, kind, content, children in rows:
        run = resting[run_id]
        what = _what(run, kind or "", content or "", children)
        until = run.not_before if run.not_before and run.not_before > now else None
        if what or until:
            is_signal = kind == "workflow.waiting" and _waits_for(content).startswith("signal ")
            found[run_id] = Rest(until=until, what=what, is_signal=is_signal)
    return found


def _waits_for(content: str | None) -> str:
    return visible(some_text(content_of(content or "").get("waits_for")))


def _what(run: Run, kind: str, content: str, children: int) -> str:
    told = content_of(content)
    name = visible(some_text(told.get("name")))
    if kind == "workflow.waiting":
        waits_for = _waits_for(content)
        return f"step {name}" if waits_for == "time" else f"step {name}: {waits_for}"
    if run.status == RunStatus.WAITING:
        more = "" if children < 100 else " or more"
        return f"{children}{more} run{'' if children == 1 else 's'} below it" if children else ""
    if kind == "retry":
        return f"step {name}, before its try {whole_number(told.get('attempt'))}"
    return "a further try of an undo" if is_undo_run(run) else ""
