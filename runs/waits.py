"""What a run that waits waits for: a person's decision about a call, its own or of a run that it handed work to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from runs.models import Run, RunStatus

# What a workflow's step asks a person is filed as a call of our own.
QUESTION = "workflow/approve"
# A family is three deep. Each run is asked about by its head and the calls of its last step.
WAITS = """
WITH RECURSIVE asleep AS (
    SELECT r.id AS top, 1 AS depth, r.id, r.status, r.correlation_id, r.model_steps FROM runs_run r
        WHERE r.id = ANY(%s) AND r.status = 'waiting'
    UNION ALL
    SELECT a.top, a.depth + 1, child.id, child.status, child.correlation_id, child.model_steps
        FROM asleep a
        JOIN runs_call c ON c.run_id = a.id AND c.step = a.model_steps AND c.fate = '' AND c.server = 'agents'
            AND c.intent = 'sending'
        JOIN runs_run child ON child.correlation_id = a.correlation_id AND child.loop = c.step_key
        WHERE a.status = 'waiting' AND a.depth < 4)
SELECT DISTINCT ON (a.top) a.top, a.id, a.status, p.id, c.server || '/' || c.tool, p.created_at, p.expires_at
    FROM asleep a
    LEFT JOIN runs_call c ON c.run_id = a.id AND c.step = a.model_steps AND c.fate = '' AND c.intent = 'held'
    LEFT JOIN approvals_approval p ON p.id = c.approval_id AND p.status = 'pending'
    ORDER BY a.top, a.depth DESC
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """`run` is the one at which it stands still, `run_status` where that is; the rest of the open request there, else None."""

    run: UUID
    run_status: str
    is_own: bool
    approval: UUID | None = None
    call: str | None = None
    since: datetime | None = None
    expires_at: datetime | None = None

    @property
    def is_question(self) -> bool:
        """Whether it is what a step of a workflow asks a person."""
        return self.call == QUESTION

    @property
    def told(self) -> str:
        """Say it in one line, such as `approval <id> of jira/create_issue`."""
        if self.approval is None:
            return f"run {self.run}, which is {self.run_status}"
        told = f"approval {self.approval} of {self.call}"
        return told if self.is_own else f"{told}, asked for by run {self.run}"


def wait_of(run: Run) -> Wait | None:
    """Return what a run waits for, None for one that does not, or of which it cannot be told."""
    return waits_of([run]).get(run.id)


def waits_of(runs: Iterable[Run]) -> dict[UUID, Wait]:
    """Return what each of these runs that waits waits for: one statement, none where nobody waits."""
    ids = [it.id for it in runs if it.status == RunStatus.WAITING]
    if not ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(WAITS, [ids])
        rows = cursor.fetchall()
    return {
        top: Wait(
            run=run, run_status=status, is_own=run == top, approval=approval, call=call if approval else None,
            since=since, expires_at=expires_at,
        )
        for top, run, status, approval, call, since, expires_at in rows
        if approval is not None or run != top
    }  # fmt: skip
