"""What it takes to append: two events of a chain of their own, as a step of reads flushes them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg

from events.chain import genesis_hash
from events.keys import tagging_key
from events.tags import Tagger
from liyagent.core.ids import new_id

ADD_HEAD = "INSERT INTO events_eventhead (correlation_id, count, hash) VALUES (%s, 0, %s)"
APPEND = (
    "SELECT liyagent_append_events(%s, %s, 'm', 'full', ARRAY['step', 'tool.call'], %s::text[])"
)
SEALED = "UPDATE events_eventhead SET is_unsealed = false WHERE correlation_id = %s"


@dataclass(slots=True)
class Flusher:
    """Appends to a new chain. No row is of it: who verifies it finds that it lacks an end, and nothing broken."""

    database: psycopg.Connection[Any]
    chain: UUID = field(default_factory=new_id)
    tagger: Tagger = field(init=False)

    def __post_init__(self) -> None:
        """Add the head."""
        self.database.execute(ADD_HEAD, [self.chain, genesis_hash(self.chain)])
        self.tagger = Tagger(
            key=tagging_key(), correlation_id=self.chain, run_id=self.chain, mission="m", attempt=1
        )

    def milliseconds(self) -> float:
        """Append once; return what it took."""
        values = self.values()
        began = time.monotonic()
        self.database.execute(APPEND, values)
        return (time.monotonic() - began) * 1000

    def values(self) -> list[Any]:
        """Return what `APPEND` wants for the next two."""
        lines = [self.tagger.line(kind, "{}") for kind in ("step", "tool.call")]
        return [self.chain, self.chain, lines]

    def leave(self) -> None:
        """Let no round seal it."""
        self.database.execute(SEALED, [self.chain])
