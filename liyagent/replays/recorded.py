"""What was recorded of a run, as a replay needs it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """One call of the run, as its event tells: arguments without our own key, and what the model was told of it.

    `result` is what a call that was done came back with, else the words of what went wrong instead.
    """

    step: int
    index: int
    server: str
    tool: str
    args: dict[str, Any]
    effect: str
    fate: str
    posture: str
    settlement: str
    result: Any
    ms: int

    @property
    def name(self) -> str:
        """`server/tool`; what a model made up may have no tool."""
        return f"{self.server}/{self.tool}" if self.tool else self.server


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStep:
    """One model step: what it said and the names of what it asked for. `model_ms` is about how long it took."""

    number: int
    text: str
    finish: str
    calls: tuple[str, ...]
    input_tokens: int
    output_tokens: int
    cost_micros: int
    model_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A run that can be replayed: what it was given, what it did and how it ended."""

    run_id: UUID
    agent: str
    agent_version: int
    entry: str
    mission: str
    started_by: str
    task: str
    history: Sequence[dict[str, str]]
    steps: Sequence[RecordedStep]
    calls: Sequence[RecordedCall]
    status: str
    error: str
    reason: str
    answer: str
    input_tokens: int
    output_tokens: int
    cost_micros: int

    @property
    def model_ms(self) -> int:
        """About how long its model was waited for."""
        return sum(it.model_ms for it in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A run that cannot be replayed, and why, in one sentence (RP-01)."""

    run_id: UUID
    reason: str
