"""How the runs stand, read from the product's database for the show; the verdict checks it against the ledgers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from liyagent.demo.judge import KIND_OF_VENDOR, WriteShown

RUNS = """
    SELECT r.id, r.status, r.model_steps, r.attempt, r.reason, h.pid
    FROM runs_run r LEFT JOIN leases_holder h ON h.id = r.holder WHERE r.id = ANY(%s)
"""
CALLS = """
    SELECT run_id, server, step_key, fate, late_finding FROM runs_call
    WHERE run_id = ANY(%s) ORDER BY run_id, step, index
"""
ENDED = frozenset({"answered", "declined", "failed", "stopped", "interrupted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run as it stands now. `pid` is its holder's process id, None while nobody holds it."""

    id: str
    status: str
    steps: int
    attempt: int
    reason: str
    pid: int | None

    @property
    def is_ended(self) -> bool:
        """Whether nothing of it runs again."""
        return self.status in ENDED


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """All runs and their writes at one moment."""

    runs: dict[str, RunRow]
    writes: tuple[WriteShown, ...]

    @property
    def in_doubt(self) -> tuple[WriteShown, ...]:
        """Writes that are marked and not settled."""
        return tuple(write for write in self.writes if not write.fate)


class Watch:
    """A connection of its own, read only, that sees what is committed."""

    def __init__(self, database_url: str, run_ids: Sequence[str]) -> None:
        """Watch these runs."""
        self._ids = [UUID(run_id) for run_id in run_ids]
        self._connection = psycopg.connect(database_url, autocommit=True, row_factory=dict_row)

    def __enter__(self) -> Self:
        """Use it in a `with`."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connection."""
        self._connection.close()

    def look(self) -> View:
        """Return how all runs stand."""
        runs = self._connection.execute(RUNS, [self._ids]).fetchall()
        calls = self._connection.execute(CALLS, [self._ids]).fetchall()
        return View(
            runs={str(row["id"]): _run(row) for row in runs},
            writes=tuple(_write(row) for row in calls if row["server"] in KIND_OF_VENDOR),
        )


def _run(row: dict[str, Any]) -> RunRow:
    return RunRow(
        id=str(row["id"]),
        status=row["status"],
        steps=row["model_steps"],
        attempt=row["attempt"],
        reason=row["reason"],
        pid=row["pid"],
    )


def _write(row: dict[str, Any]) -> WriteShown:
    # A late look that found it makes an unknown write known (ruling 7).
    is_found_late = row["fate"] == "unknown" and row["late_finding"] == "found"
    return WriteShown(
        run_id=str(row["run_id"]),
        vendor=row["server"],
        step_key=row["step_key"],
        fate="done" if is_found_late else row["fate"],
    )
