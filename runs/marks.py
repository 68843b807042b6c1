"""What a mark and a settled call keep sealed: the exact bytes, what decides a re-send, and the outcome."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from liyagent.core.seal import Sealer
from liyagent.gateway.outcome import Fate, Outcome, Payload
from runs.errors import CheckpointBroken
from runs.handed import NAME, Handed
from runs.models import Call, Intent
from sagas.declare import Declared

BYTES, OUTCOME = "bytes", "outcome"


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedMark:
    """A mark as it was sealed; the row's plain columns, which anybody may edit, decide nothing alone.

    `marked_after` is no later than the row's `marked_at`, by the database's clock as this process knew it. `approval` is
    the id of the request that it is held for, or was approved by, "" for none; `chain` the agents that handed the work
    down, for a call that a run of its own may have to make; `undo` how it is undone, None where nobody said;
    `agent` whose call it is, "" for the run's own; `undo_key` that of the undo which it is, "" for a call that is none;
    `handoff` the hand-off that it begins, None for a call that hands nothing over.
    """

    payload: Payload
    has_identity: bool
    key_window_seconds: int
    marked_after: datetime
    intent: str = Intent.SENDING.value
    approval: str = ""
    chain: tuple[str, ...] = ()
    undo: Declared | None = None
    agent: str = ""
    undo_key: str = ""
    handoff: Handed | None = None

    def seal(self, sealer: Sealer, *, step: int, index: int) -> bytes:
        """Return it sealed as the mark of that very call."""
        facts = {
            "payload": _told(self.payload),
            "has_identity": self.has_identity,
            "key_window_seconds": self.key_window_seconds,
            "marked_after": self.marked_after.isoformat(),
            "intent": self.intent,
            "approval": self.approval,
            "chain": list(self.chain),
        }
        if self.undo is not None:
            facts["undo"] = self.undo.as_json()
        if self.agent:
            facts["agent"] = self.agent
        if self.undo_key:
            facts["undo_key"] = self.undo_key
        if self.handoff is not None:
            facts[NAME] = self.handoff.as_json()
        return sealer.seal(facts, kind=BYTES, number=place_of(step, index))


def _told(payload: Payload) -> dict[str, Any]:
    """The release before knows of no agent, and reads each mark of a rolling deploy (ruling 14): no write has one."""
    told = asdict(payload)
    if not payload.agent:
        del told["agent"]
    return told


def open_mark(sealer: Sealer, row: Call) -> SealedMark:
    """Return what was marked. Raises `SealBroken`, or `CheckpointBroken` where a column of the row is another."""
    facts: dict[str, Any] = sealer.open(
        row.sealed, kind=BYTES, number=place_of(row.step, row.index)
    )
    mark = SealedMark(
        payload=Payload(**facts["payload"]),
        has_identity=facts["has_identity"],
        key_window_seconds=facts["key_window_seconds"],
        marked_after=datetime.fromisoformat(facts["marked_after"]),
        # A mark of the release before knew of no other intent.
        intent=facts.get("intent", Intent.SENDING.value),
        approval=facts.get("approval", ""),
        chain=tuple(facts.get("chain", ())),
        undo=Declared.from_json(facts["undo"]) if "undo" in facts else None,
        agent=facts.get("agent", ""),
        undo_key=facts.get("undo_key", ""),
        handoff=Handed.from_json(facts[NAME]) if NAME in facts else None,
    )
    sealed = (mark.payload.server, mark.payload.tool, mark.payload.key, mark.has_identity)
    if (*sealed, mark.key_window_seconds, mark.intent, mark.approval) != _columns(row):
        raise CheckpointBroken(
            f"the mark of call {row.index} of step {row.step} is not the one that was sealed"
        )
    return mark


def _columns(row: Call) -> tuple[str, str, str, bool, int, str, str]:
    identity = (row.server, row.tool, row.step_key, row.has_identity, row.key_window_seconds)
    return *identity, row.intent, str(row.approval_id or "")


def seal_outcome(sealer: Sealer, outcome: Outcome, *, step: int, index: int) -> bytes:
    """Return an outcome sealed as that of this very call."""
    return sealer.seal(asdict(outcome), kind=OUTCOME, number=place_of(step, index))


def open_outcome(sealer: Sealer, row: Call) -> Outcome:
    """Return what a settled call came back with. Raises `SealBroken`."""
    stored = sealer.open(row.outcome or b"", kind=OUTCOME, number=place_of(row.step, row.index))
    return Outcome(**{**stored, "fate": Fate(stored["fate"])})


def place_of(step: int, index: int) -> int:
    """Return the number that a call's sealed pieces are bound to."""
    return step << 16 | index
