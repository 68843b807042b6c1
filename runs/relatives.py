"""The other runs of a run's chain: those above it, beside it and below it, for its page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from runs.approved_run import LOOP
from runs.models import ENDED, Run
from runs.undo_run import LOOP as UNDO_LOOP

MOST_RELATIVES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Relative:
    """A run of the same chain. `depth` is how far below the first of the chain it stands."""

    id: UUID
    parent_id: UUID | None
    loop: str
    agent: str
    status: str
    reason: str
    model_steps: int
    calls_made: int
    created_at: datetime
    ended_at: datetime | None
    workflow: str = ""
    depth: int = 0

    @property
    def is_undo(self) -> bool:
        """Whether it undoes what the first of its chain did."""
        return self.loop.startswith(UNDO_LOOP)

    @property
    def asks_no_model(self) -> bool:
        """Whether its steps are those of a definition, or undos."""
        return bool(self.workflow) or self.is_undo

    @property
    def is_ended(self) -> bool:
        """Whether nothing of it runs again."""
        return self.status in ENDED

    @property
    def is_approved(self) -> bool:
        """Whether it makes a call that was approved after the run that asked for it went on."""
        return self.loop.startswith(LOOP)

    @property
    def seconds(self) -> float | None:
        """How long it took, None before its end."""
        return (self.ended_at - self.created_at).total_seconds() if self.ended_at else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relatives:
    """All runs of a chain, the run itself among them, as a tree read downwards; at most 200."""

    runs: Sequence[Relative]
    has_more: bool
    by_id: Mapping[UUID, Relative] = field(default_factory=dict)

    def by_loop(self) -> Mapping[str, Relative]:
        """Return them by the key of the call that asked for each."""
        return {it.loop: it for it in self.runs}

    def below(self, roots: Iterable[UUID]) -> list[UUID]:
        """Return these runs and all below them."""
        found = {it for it in roots if it in self.by_id}
        for it in self.runs:
            if it.parent_id in found:
                found.add(it.id)
        return [it.id for it in self.runs if it.id in found]


def relatives_of(run: Run) -> Relatives:
    """Return the runs of this run's chain: one statement, and no body is read."""
    rows = list(
        Run.objects.filter(correlation_id=run.correlation_id)
        .order_by("created_at", "id")
        .values_list("id", "parent_id", "loop", "agent_key", "status", "reason", "model_steps", "calls_made",
                     "created_at", "ended_at", "workflow")[: MOST_RELATIVES + 1]
    )  # fmt: skip
    names = (
        "id", "parent_id", "loop", "agent", "status", "reason", "model_steps", "calls_made", "created_at", "ended_at",
        "workflow",
    )  # fmt: skip
    found: list[dict[str, Any]] = [
        dict(zip(names, row, strict=True)) for row in rows[:MOST_RELATIVES]
    ]
    ids = {it["id"] for it in found}
    below: dict[UUID | None, list[dict[str, Any]]] = {}
    for it in found:
        below.setdefault(it["parent_id"] if it["parent_id"] in ids else None, []).append(it)
    runs: list[Relative] = []

    def walk(parent: UUID | None, depth: int) -> None:
        for it in below.pop(parent, ()):
            runs.append(Relative(**it, depth=depth))
            walk(it["id"], depth + 1)

    walk(None, 0)
    return Relatives(
        runs=runs, has_more=len(rows) > MOST_RELATIVES, by_id={it.id: it for it in runs}
    )
