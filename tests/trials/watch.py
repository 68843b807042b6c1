"""What the product's database shows, read from outside by a connection that survives the database's death."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from liyagent.demo.judge import KIND_OF_VENDOR, Kind, RunShown, WriteShown
from tests.trials.stage import StageFailed

ENDED = frozenset({"answered", "declined", "failed", "stopped", "interrupted"})
IN_DOUBT = frozenset({"sent_with_same_key", "read_back", "told_unknown"})
RUNS = """
    SELECT id, agent_key, status, reason, attempt, losses, handovers, last_loss, model_steps, holder,
        settle_after, not_before, extract(epoch FROM ended_at)::float8 AS ended_at
    FROM runs_run WHERE id = ANY(%s)
"""
CALLS = """
    SELECT run_id, step, index, server, tool, step_key, has_identity, intent, attempt, holder, fate,
        settlement, marked_at, deadline, settled_at, late_finding
    FROM runs_call WHERE run_id = ANY(%s) ORDER BY run_id, step, index
"""
OPEN_MARKS = """
    SELECT run_id, server, step_key, holder FROM runs_call
    WHERE run_id = ANY(%s) AND fate = '' AND intent = 'sending'
"""
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenMark:
    """A write that is marked and not settled."""

    run_id: str
    vendor: str
    step_key: str

    @property
    def kind(self) -> Kind:
        """The kind of its vendor."""
        return KIND_OF_VENDOR[self.vendor]


class Watch:
    """Reads what is committed; waits for a database that is away."""

    def __init__(self, database_url: str) -> None:
        """Connect at the first question."""
        self._url = database_url
        self._connection: psycopg.Connection[Row] | None = None

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def rows(self, query: str, values: Sequence[Any] = (), *, patience: float = 30.0) -> list[Row]:
        """Return what a query finds; asked again for `patience` seconds while the database is away."""
        until = time.monotonic() + patience
        while True:
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = psycopg.connect(
                        self._url, autocommit=True, row_factory=dict_row, connect_timeout=2
                    )
                return self._connection.execute(query, values).fetchall()
            except psycopg.OperationalError as error:
                self.close()
                if time.monotonic() > until:
                    raise StageFailed(f"the database is away: {error}") from error
                time.sleep(0.05)

    def runs(self, ids: Sequence[UUID]) -> list[Row]:
        """Return the heads of these runs."""
        return self.rows(RUNS, [list(ids)])

    def calls(self, ids: Sequence[UUID]) -> list[Row]:
        """Return the marked calls of these runs."""
        return self.rows(CALLS, [list(ids)])

    def holders_of(self, pid: int) -> set[UUID]:
        """Return the holders that a process has been."""
        found = self.rows("SELECT id FROM leases_holder WHERE pid = %s", [pid])
        return {row["id"] for row in found}

    def holders_in(self, namespace: str) -> set[UUID]:
        """Return the holders of a pid namespace."""
        found = self.rows("SELECT id FROM leases_holder WHERE pid_namespace = %s", [namespace])
        return {row["id"] for row in found}

    def open_marks(
        self, ids: Sequence[UUID], *, holders: set[UUID] | None = None
    ) -> list[OpenMark]:
        """Return the writes in doubt, of these holders alone where they are named."""
        return [
            OpenMark(run_id=str(it["run_id"]), vendor=it["server"], step_key=it["step_key"])
            for it in self.rows(OPEN_MARKS, [list(ids)])
            if holders is None or it["holder"] in holders
        ]


def run_shown(row: Row, *, asked: int = 0) -> RunShown:
    """Return a run as the judge wants it."""
    return RunShown(id=str(row["id"]), agent=row["agent_key"], status=row["status"], asked=asked)


def write_shown(row: Row) -> WriteShown:
    """Return a write as the judge wants it; a late look that found it makes it known (ruling 7)."""
    is_found_late = row["fate"] == "unknown" and row["late_finding"] == "found"
    return WriteShown(
        run_id=str(row["run_id"]),
        vendor=row["server"],
        step_key=row["step_key"],
        fate="done" if is_found_late else row["fate"],
    )
