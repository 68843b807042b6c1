"""One run in one lane: its record is loaded once for all its lanes, replayed, and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any
from uuid import UUID

from django.db import connection

from liyagent.core.errors import BadInput
from liyagent.jobs.errors import JobFailed
from liyagent.providers.types import Message, ModelRejected, ModelUnavailable, Role
from liyagent.replays.budget import Budget
from liyagent.replays.diff import compare
from liyagent.replays.recorded import Recording, Skipped
from liyagent.replays.recording import load_recording
from liyagent.replays.replay import replay_run
from liyagent.replays.words import words_of
from runs.ask import ask_model
from runs.authority import AgentNow
from runs.models import Run

Place = tuple[UUID, int]
QUESTION = "Answer with the one word: ready."
LOST = "it is not kept any more"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What came of one run in one lane: `diff` in facts, `words` to be sealed."""

    status: str
    error: str
    reason: str
    diff: dict[str, Any]
    words: dict[str, Any]


class Recordings:
    """The records of the runs that are being replayed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._locks: dict[UUID, Lock] = {}
        self._found: dict[UUID, Recording | Skipped] = {}

    def of(self, run_id: UUID) -> Recording | Skipped:
        """Return the record of a run, loaded by whoever asks first."""
        with self._lock:
            lock = self._locks.setdefault(run_id, Lock())
        with lock:
            if run_id not in self._found:
                self._found[run_id] = _load(run_id)
            return self._found[run_id]

    def drop(self, run_id: UUID) -> None:
        """Nobody asks for it any more."""
        self._found.pop(run_id, None)
        self._locks.pop(run_id, None)


def replay_lane(
    recordings: Recordings,
    run_id: UUID,
    agent: AgentNow,
    *,
    strict: bool,
    is_unwanted: Callable[[], bool],
    budget: Budget,
) -> Made | Skipped:
    """Replay a run with an agent and compare; or say why it is skipped. Raises `ReplayUnwanted`."""
    recording = recordings.of(run_id)
    # Models may be waited for long.
    connection.close()
    if isinstance(recording, Skipped):
        return recording
    replayed = replay_run(recording, agent, strict=strict, is_unwanted=is_unwanted, budget=budget)
    return Made(
        status=replayed.status,
        error=replayed.error,
        reason=replayed.reason,
        diff=compare(recording, replayed).facts(),
        words=words_of(recording, replayed),
    )


def ask_whether_there(agent: AgentNow, *, run_id: str, is_unwanted: Callable[[], bool]) -> None:
    """Ask an agent's model the least there is to ask. Raises `JobFailed` with the words of its endpoint."""
    message = Message(role=Role.USER, text=QUESTION)
    try:
        ask_model(
            agent,
            messages=[message],
            tools=(),
            steps_taken=0,
            run_id=run_id,
            is_unwanted=is_unwanted,
        )
    except (ModelRejected, ModelUnavailable, BadInput) as error:
        raise JobFailed(f"model {agent.model} of provider {agent.provider} cannot be asked: {error}") from None  # fmt: skip


def _load(run_id: UUID) -> Recording | Skipped:
    run = Run.objects.filter(id=run_id).first()
    return Skipped(run_id=run_id, reason=LOST) if run is None else load_recording(run)
