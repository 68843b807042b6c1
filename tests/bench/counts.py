"""What the server counts while a cell runs: statements, commits, log bytes, checkpoints."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

COUNTS = """
    SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8,
        pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8,
        (SELECT wal_fpi FROM pg_stat_wal)::float8,
        (SELECT wal_sync FROM pg_stat_wal)::float8,
        (SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter)::float8
"""
# From 18 on syncs of the log are counted with all other input and output, from 17 on checkpoints elsewhere.
COUNTS_18 = """
    SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8,
        pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8,
        (SELECT wal_fpi FROM pg_stat_wal)::float8,
        (SELECT sum(fsyncs) FROM pg_stat_io
            WHERE object = 'wal' AND backend_type = 'client backend')::float8,
        (SELECT num_timed + num_requested FROM pg_stat_checkpointer)::float8
"""
COUNTS_17 = COUNTS.replace("pg_stat_bgwriter", "pg_stat_checkpointer").replace(
    "checkpoints_timed + checkpoints_req", "num_timed + num_requested"
)
STATEMENTS = """
    SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND toplevel
"""
TOP_STATEMENTS = """
    SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), 90), calls::float8, total_exec_time::float8
    FROM pg_stat_statements
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND toplevel
    ORDER BY calls DESC LIMIT %s
"""
RESET = "SELECT pg_stat_statements_reset()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Totals, or the difference of two. `statements` is NaN where the extension is not there.

    `commits` counts every transaction, `syncs` those that wait for the log: the durable commits of
    one client alone; several at once share them.
    """

    commits: float
    log_bytes: float
    full_pages: float
    syncs: float
    checkpoints: float
    statements: float

    def since(self, before: Counts) -> Counts:
        """Return what was added."""
        return Counts(
            commits=self.commits - before.commits,
            log_bytes=self.log_bytes - before.log_bytes,
            full_pages=self.full_pages - before.full_pages,
            syncs=self.syncs - before.syncs,
            checkpoints=self.checkpoints - before.checkpoints,
            statements=self.statements - before.statements,
        )


class Counter:
    """A connection of its own. Its own statements are left out of what it counts."""

    def __init__(self, url: str, *, has_statements: bool) -> None:
        """Connect; `has_statements`: pg_stat_statements is preloaded."""
        self.connection = psycopg.connect(url, autocommit=True)
        self.has_statements = has_statements
        version = self.connection.info.server_version
        newer = COUNTS_18 if version >= 180_000 else COUNTS_17
        self._query = newer if version >= 170_000 else COUNTS
        if has_statements:
            self.connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
            # Its own questions must not be counted, nor be in the list.
            self.connection.execute("SET pg_stat_statements.track = 'none'")

    def read(self) -> Counts:
        """Return the totals. Sessions that count must have ended: their numbers come late otherwise."""
        self.connection.execute("SELECT pg_stat_force_next_flush()")
        row = self.connection.execute(self._query).fetchone()
        assert row is not None
        commits, log_bytes, full_pages, syncs, checkpoints = row
        return Counts(
            commits=commits,
            log_bytes=log_bytes,
            full_pages=full_pages,
            syncs=syncs,
            checkpoints=checkpoints,
            statements=self._statements(),
        )

    def top(self, *, limit: int = 12) -> list[tuple[str, float, float]]:
        """Return the statements called most: text, calls, milliseconds."""
        if not self.has_statements:
            return []
        return [
            (row[0], row[1], row[2]) for row in self.connection.execute(TOP_STATEMENTS, [limit])
        ]

    def forget_statements(self) -> None:
        """Start the list of statements anew."""
        if self.has_statements:
            self.connection.execute(RESET)

    def _statements(self) -> float:
        if not self.has_statements:
            return float("nan")
        row = self.connection.execute(STATEMENTS).fetchone()
        return float(row[0]) if row else float("nan")
