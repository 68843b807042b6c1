"""A vendor's own memory: what was asked of it and what took effect, in one SQLite file."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    number INTEGER PRIMARY KEY, tool TEXT NOT NULL, args TEXT NOT NULL, received_at REAL NOT NULL,
    committed_at REAL, effect INTEGER, mission TEXT NOT NULL, step_key TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS effects (
    number INTEGER PRIMARY KEY, tool TEXT NOT NULL, record_id TEXT NOT NULL, key TEXT NOT NULL,
    body TEXT NOT NULL, committed_at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS effects_key ON effects (tool, key);
CREATE INDEX IF NOT EXISTS effects_record ON effects (record_id);
CREATE TABLE IF NOT EXISTS kept_keys (key TEXT PRIMARY KEY, effect INTEGER NOT NULL REFERENCES effects);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One thing that really happened at the vendor. `committed_at` is seconds since 1970."""

    number: int
    tool: str
    record_id: str
    key: str
    body: dict[str, Any]
    committed_at: float

    def as_record(self) -> dict[str, Any]:
        """The record as the vendor's own clients see it."""
        return {"id": self.record_id, **self.body}


class Ledger:
    """Rows that survive a SIGKILL of the vendor: a commit has left the process before it returns.

    Safe from several threads; they take turns. Write-ahead logging with `synchronous=NORMAL`: a
    killed process loses nothing, a power failure may lose the last rows, which no demo needs.
    """

    def __init__(self, path: Path) -> None:
        """Open or make the file at `path`."""
        self._turn = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(SCHEMA)

    def close(self) -> None:
        """Close the file; the ledger cannot be used afterwards."""
        with self._turn:
            self._db.close()

    def receive(self, tool: str, args: dict[str, Any], *, mission: str, step_key: str) -> int:
        """Note that a call arrived, before anything else is done about it. Returns its number."""
        with self._transaction() as db:
            row = db.execute(
                "INSERT INTO requests (tool, args, received_at, mission, step_key) VALUES (?, ?, ?, ?, ?)",
                (tool, json.dumps(args), time.time(), mission, step_key),
            )
            return int(row.lastrowid or 0)

    def commit(
        self, request: int, tool: str, body: dict[str, Any], *, prefix: str, key: str, is_kept: bool
    ) -> Effect:
        """Let a write take effect. `is_kept`: the key may do so once for ever, else `sqlite3.IntegrityError`."""
        with self._transaction() as db:
            (number,) = db.execute("SELECT coalesce(max(number), 0) + 1 FROM effects").fetchone()
            effect = Effect(
                number=number,
                tool=tool,
                record_id=f"{prefix}-{number}",
                key=key,
                body=body,
                committed_at=time.time(),
            )
            db.execute(
                "INSERT INTO effects VALUES (:number, :tool, :record_id, :key, :body, :committed_at)",
                {**asdict(effect), "body": json.dumps(body)},
            )
            if is_kept:
                db.execute("INSERT INTO kept_keys VALUES (?, ?)", (key, number))
            self._answer(db, request, effect)
        return effect

    def repeat(self, request: int, effect: Effect) -> None:
        """Note that a request was answered with an effect that an earlier one had."""
        with self._transaction() as db:
            self._answer(db, request, effect)

    def kept(self, key: str) -> Effect | None:
        """Return what this key once did, if it did."""
        found = self._select("number = (SELECT effect FROM kept_keys WHERE key = ?)", (key,))
        return found[0] if found else None

    def record(self, record_id: str) -> Effect | None:
        """Return the effect that made this record."""
        found = self._select("record_id = ?", (record_id,))
        return found[0] if found else None

    def by_key(self, tool: str, key: str) -> list[Effect]:
        """Return what `tool` did under this key, oldest first."""
        return self._select("tool = ? AND key = ?", (tool, key))

    def latest(self, tool: str, *, limit: int = 50) -> list[Effect]:
        """Return the newest effects of `tool`, newest first."""
        return self._select("tool = ?", (tool,), order=f"number DESC LIMIT {limit:d}")

    def with_body(self, tool: str, field: str, value: str) -> list[Effect]:
        """Return the effects of `tool` whose body has this value in this field, oldest first."""
        return self._select("tool = ? AND json_extract(body, ?) = ?", (tool, f"$.{field}", value))

    def with_text(self, tool: str, text: str, *, limit: int = 50) -> list[Effect]:
        """Return the effects of `tool` whose body contains this text, newest first."""
        return self._select(
            "tool = ? AND instr(body, ?) > 0", (tool, text), order=f"number DESC LIMIT {limit:d}"
        )

    def as_json(self) -> dict[str, Any]:
        """Everything, for a judge: `requests` (one for every call that arrived) and `effects`."""
        with self._turn:
            requests = [
                dict(row) for row in self._db.execute("SELECT * FROM requests ORDER BY number")
            ]
        for row in requests:
            row["args"] = json.loads(row["args"])
        return {
            "requests": requests,
            "effects": [asdict(effect) for effect in self._select("1", ())],
        }

    def _select(
        self, where: str, values: tuple[str, ...], *, order: str = "number"
    ) -> list[Effect]:
        with self._turn:
            rows = self._db.execute(
                f"SELECT * FROM effects WHERE {where} ORDER BY {order}",  # noqa: S608 - literals above
                values,
            ).fetchall()
        return [Effect(**{**dict(row), "body": json.loads(row["body"])}) for row in rows]

    @staticmethod
    def _answer(db: sqlite3.Connection, request: int, effect: Effect) -> None:
        db.execute(
            "UPDATE requests SET committed_at = ?, effect = ? WHERE number = ?",
            (effect.committed_at, effect.number, request),
        )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._turn:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
