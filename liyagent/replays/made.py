"""What a replay did: its steps, its calls as they were asked for and answered, and how it ended. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from liyagent.replays.drift import Drift
from liyagent.replays.recorded import RecordedCall


class How(StrEnum):
    """How a call of a replay was answered.

    EXACT: by the recorded call with the same arguments. BY_ORDER: by the next unused one of that tool. UNSERVED: the record
    has none. REFUSED: by a gate or a hook, as they stand today. NOT_HERE: a remote agent, or the agent's own state (RP-04).
    """

    EXACT = "exact"
    BY_ORDER = "by_order"
    UNSERVED = "unserved"
    REFUSED = "refused"
    NOT_HERE = "not_here"


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeCall:
    """A call as the replay made it. `recorded` is the call that answered it, `drift` how its arguments differ from that one's."""

    step: int
    index: int
    server: str
    tool: str
    args: dict[str, Any]
    how: How
    fate: str
    result: Any
    recorded: RecordedCall | None = None
    drift: Sequence[Drift] = ()

    @property
    def name(self) -> str:
        """`server/tool`; what a model made up may have no tool."""
        return f"{self.server}/{self.tool}" if self.tool else self.server


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeStep:
    """One model step of a replay, as the guardrails left its text."""

    number: int
    text: str
    finish: str
    calls: tuple[str, ...]
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedRun:
    """What a replay came to. `unused` are the recorded calls that it never asked for; `guardrails` names the checks that acted."""

    run_id: UUID
    status: str
    error: str
    reason: str
    answer: str
    steps: Sequence[MadeStep]
    calls: Sequence[MadeCall]
    unused: Sequence[RecordedCall]
    guardrails: Sequence[str]
    input_tokens: int
    output_tokens: int
    cost_micros: int
    model_ms: int
