"""Chains of any age: what is purged is older than any test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from events.chain import genesis_hash
from liyagent.core.ids import new_id

DAY_MS = 86_400_000
SEALED = "UPDATE events_eventhead SET is_unsealed = false, sealed_count = count"
APPEND = "SELECT liyagent_append_events(%s, %s, 'm', 'full', '{step}', ARRAY['{}'])"


@dataclass(frozen=True, slots=True)
class Record:
    """The owner's session, and chains of any age."""

    session: psycopg.Connection[tuple[Any, ...]]

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement, as who owns the tables."""
        cursor = self.session.execute(statement, values)
        return cursor.fetchall() if cursor.description else []

    def chain(self, *, days: float, events: int = 3, rested: float | None = None) -> UUID:
        """Write a chain begun so many days ago, its last event `rested` days ago, sealed, and of no run that goes on."""
        chain = UUID(int=new_id().int - (int(days * DAY_MS) << 80))
        self.sql(
            "INSERT INTO events_eventhead (correlation_id, count, hash) VALUES (%s, 0, %s)",
            chain,
            genesis_hash(chain),
        )
        for number in range(events):
            self.at(days if number + 1 < events or rested is None else rested)
            self.sql(APPEND, chain, chain)
        self.at(0)
        self.sql(f"{SEALED} WHERE correlation_id = %s", chain)
        return chain

    def at(self, days_ago: float) -> None:
        """Let the database's clock say that it is so many days ago."""
        self.sql(
            "CREATE OR REPLACE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql VOLATILE"
            f" AS $$ SELECT clock_timestamp() - interval '{days_ago} days' $$"
        )

    def left(self) -> set[UUID]:
        """Return the chains that have events or a head."""
        rows = self.sql(
            "SELECT correlation_id FROM events_eventhead UNION SELECT correlation_id FROM events_runevent"
        )
        return {chain for (chain,) in rows}
