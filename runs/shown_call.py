"""One call as the page of its run shows it: what became of it, on whose authority, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from events.content import some_text, whole_number
from liyagent.approvals.models import Approval
from liyagent.core.tables import visible
from liyagent.gateway.outcome import Posture
from runs.decisions import NOT_SENT, gate_told, settlement_told
from runs.settle_by_person import BY_PERSON
from runs.shown_words import shown_words
from runs.told_events import Told

POSTURES: Mapping[str, str] = {
    Posture.POSTURE: "let through by every gate",
    Posture.HELD: "held for a person",
    Posture.REFUSED: "refused",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLine:
    """Something that was told of a call beside its outcome. `number` is its event, None for what no event tells."""

    text: str
    at: datetime | None = None
    number: int | None = None


@dataclass(slots=True, kw_only=True)
class ShownCall:
    """One call. `args` and `result` are empty where nobody may read them here.

    `held_by` is the gate that put it before a person, `decision` what was said of it, by a person or by a gate; `sub` the run
    that it handed work to, or that made it once it was approved.
    """

    form: ClassVar[str] = "call"
    step: int
    index: int
    name: str
    number: int | None = None
    effect: str = ""
    fate: str = ""
    settlement: str = ""
    posture: str = ""
    gate: str = ""
    policy: str = ""
    run_as: str = ""
    held_by: str = ""
    decision: str = ""
    approval_id: UUID | None = None
    key: str = ""
    milliseconds: int | None = None
    args: str = ""
    result: str = ""
    attempt: int = 0
    marked_at: datetime | None = None
    settled_at: datetime | None = None
    late_look_at: datetime | None = None
    late_finding: str = ""
    lines: list[ShownLine] = field(default_factory=list)
    sub: Any = None

    @property
    def is_unknown(self) -> bool:
        """Whether a person has to look for it."""
        return self.fate == "unknown" and self.late_finding != "found"

    @property
    def was_not_sent(self) -> bool:
        """Whether it certainly never left."""
        return self.fate in NOT_SENT

    @property
    def went_wrong(self) -> bool:
        """Whether it came to anything but what was asked for, or has not yet."""
        return self.fate != "done"

    @property
    def at(self) -> datetime | None:
        """When it is first known of: a request about it, its mark, else what tells of its outcome."""
        moments = [self.marked_at or self.settled_at, *(it.at for it in self.lines)]
        return min((it for it in moments if it is not None), default=None)

    @property
    def short_key(self) -> str:
        """The beginning of its step key."""
        return f"{self.key[:12]}…" if len(self.key) > 13 else self.key

    @property
    def authority(self) -> str:
        """What the gates said of it, "" where no event tells."""
        return POSTURES.get(self.posture, visible(self.posture))

    @property
    def took(self) -> float | None:
        """How many seconds it took, None where nobody knows, or nothing was sent."""
        if self.milliseconds:
            return self.milliseconds / 1000
        if self.was_not_sent or self.settlement == BY_PERSON:
            return None
        if self.marked_at and self.settled_at:
            return max(0.0, (self.settled_at - self.marked_at).total_seconds())
        return None


def call_of(told: Told, facts: Mapping[str, Any]) -> ShownCall:
    """Return a call as its event tells it; `facts` are what may be shown of its content. Total."""
    name = {it: some_text(facts.get(it)) for it in ("server", "tool", "fate", "posture", "gate")}
    return ShownCall(
        step=whole_number(facts.get("step")),
        index=whole_number(facts.get("index")),
        name=visible(f"{name['server']}/{name['tool']}"),
        number=told.number,
        effect=some_text(facts.get("effect")),
        fate=name["fate"],
        settlement=settlement_told(
            fate=name["fate"], settlement=some_text(facts.get("settlement"))
        ),
        posture=name["posture"],
        gate=name["gate"],
        policy=some_text(facts.get("policy")),
        run_as=some_text(facts.get("run_as")),
        decision=gate_told(fate=name["fate"], posture=name["posture"], gate=name["gate"]),
        key=some_text(facts.get("key")),
        milliseconds=whole_number(facts.get("ms")) or None,
        args=shown_words(facts.get("args")),
        result=shown_words(facts.get("result")),
        settled_at=told.at,
    )


def add_mark(call: ShownCall, mark: Mapping[str, Any], request: Approval | None) -> None:
    """What a mark's row tells stands over what its event told: the row is what settles."""
    call.effect, call.fate, call.settlement = "write", mark["fate"], mark["settlement"]
    call.key, call.attempt = mark["step_key"], mark["attempt"]
    call.marked_at, call.settled_at = mark["marked_at"], mark["settled_at"]
    call.late_look_at, call.late_finding = mark["late_look_at"], mark["late_finding"]
    if request is not None:
        call.held_by, call.decision, call.approval_id = request.gate, mark["decision"], request.id
        call.run_as = request.run_as
