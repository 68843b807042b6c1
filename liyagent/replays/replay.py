"""Replay one run: its task through the agent as it stands today, every call answered from the record (RP-02 to RP-04).

The loop, the mind, caps, guardrails, hooks and gates are those of any run; what a run keeps, a replay does not. No table is
written, and no server has a session here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils import timezone

from liyagent.agents.guardrails import Acted
from liyagent.core.clock import boottime
from liyagent.core.errors import LiyagentError
from liyagent.core.ids import new_id
from liyagent.providers.types import ModelAnswer
from liyagent.replays.budget import Budget
from liyagent.replays.made import MadeStep, ReplayedRun
from liyagent.replays.recorded import Recording
from liyagent.replays.scope import ReplayScope
from runs.attempt import Attempt, Carrier
from runs.authority import AgentNow, refusal_of
from runs.checkpoint import Checkpoint, keyring, sealer_of, started_as
from runs.conversation import Pending, start_part
from runs.ending import Ending, HandedBack, MayNotGoOn, failed
from runs.event_buffer import event_buffer
from runs.guard import Given
from runs.hot import Counters
from runs.loop import go_on
from runs.model_mind import ModelMind
from runs.models import Run

REPLAY = "replay"


class ReplayUnwanted(LiyagentError):
    """The replay is not wanted any more: it was cancelled, or the process drains."""

    code = "replay.unwanted"


def replay_run(
    recording: Recording,
    agent: AgentNow,
    *,
    strict: bool,
    is_unwanted: Callable[[], bool],
    budget: Budget,
) -> ReplayedRun:
    """Put what a run was given through `agent`, and return what it did, with how each call was answered.

    `agent` is as it stands, with the override laid over it; it stands so to the end of the replay. What was asked of the model
    is counted in `budget` as it is asked. Raises `ReplayUnwanted` once `is_unwanted` says so: between two calls or model
    steps, and while an answer streams.
    """
    attempt = ReplayAttempt(recording, agent, strict=strict, is_unwanted=is_unwanted, budget=budget)
    try:
        go_on(attempt, ReplayMind(attempt), took=_uncounted)
    except HandedBack:
        raise ReplayUnwanted from None
    except MayNotGoOn as over:
        return attempt.told(over.ending)


class ReplayAttempt(Attempt):
    """The attempt of a run that is in no table."""

    is_replay = True

    def __init__(
        self,
        recording: Recording,
        agent: AgentNow,
        *,
        strict: bool,
        is_unwanted: Callable[[], bool],
        budget: Budget,
    ) -> None:
        """Begin before the first step, by the record's way."""
        self.scope = ReplayScope(recording.calls, strict=strict)
        carrier = Carrier(holder=REPLAY, give_up=is_unwanted, hand_over=is_unwanted)
        super().__init__(_checkpoint(recording, agent), carrier, way=self.scope.way)
        self.budget = budget
        self.steps: list[MadeStep] = []
        self.model_ms = 0
        self.guardrails: list[str] = []
        self._recording, self._agent = recording, agent

    def agent(self) -> AgentNow:
        """The agent that is tried. Raises `MayNotGoOn` where no run of it may go on."""
        if (refusal := refusal_of(self.run, self._agent)) is not None:
            raise MayNotGoOn(failed(*refusal))
        return self._agent

    def make(self, answer: ModelAnswer) -> None:
        """Have the step's calls answered, in order."""
        pending = self._write_step(answer)
        self.scope.step = pending.step
        for call in self._calls(pending):
            self.route(self.scope, call, self.may_call())

    def resume(self) -> None:
        """Nothing was left."""

    def keep_step(self, answer: ModelAnswer, pending: Pending) -> None:
        """Keep nothing."""

    def tell_start(self, given: Given | None = None) -> None:
        """Tell nobody."""

    def tell_acted(self, acted: Sequence[Acted]) -> None:
        """Take note of them here alone."""
        self.guardrails += [f"{it.told}: {it.action}" for it in acted]

    def waited(self, since: datetime) -> float:
        """No person is waited for."""
        return 0.0

    def handed_over(self) -> HandedBack:
        """There is nobody to hand it to."""
        return HandedBack()

    def take_note(self, answer: ModelAnswer) -> None:
        """Keep a model step for whoever reads the replay, as the guardrails left it."""
        self.steps.append(
            MadeStep(
                number=len(self.steps) + 1,
                text=answer.text,
                finish=answer.finish.value,
                calls=tuple(it.name for it in answer.calls),
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
            )
        )

    def told(self, ending: Ending) -> ReplayedRun:
        """Return what the replay came to."""
        counters = self.checkpoint.counters
        return ReplayedRun(
            run_id=self._recording.run_id,
            status=ending.status.value,
            error=ending.error.value,
            reason=ending.reason,
            answer=ending.answer,
            steps=self.steps,
            calls=self.scope.made,
            unused=self.scope.unused,
            guardrails=self.guardrails,
            input_tokens=counters.input_tokens,
            output_tokens=counters.output_tokens,
            cost_micros=counters.cost_micros,
            model_ms=self.model_ms,
        )


class ReplayMind(ModelMind):
    """Asks the model as any run does, and counts what it asked."""

    def __init__(self, attempt: ReplayAttempt) -> None:
        super().__init__(attempt)
        self._replay = attempt

    def _answer(self, agent: AgentNow) -> ModelAnswer:
        began = time.monotonic()
        tokens = 0
        try:
            answer = super()._answer(agent)
            tokens = answer.input_tokens + answer.output_tokens
            return answer
        finally:
            self._replay.model_ms += round((time.monotonic() - began) * 1000)
            self._replay.budget.spend(calls=1, tokens=tokens)

    def _accepted(self, agent: AgentNow, answer: ModelAnswer) -> ModelAnswer:
        kept = replace(answer, text="")
        try:
            kept = super()._accepted(agent, answer)
            return kept
        finally:
            self._replay.take_note(kept)


def _checkpoint(recording: Recording, agent: AgentNow) -> Checkpoint:
    """The checkpoint of a run that nobody stores: it was asked as the recorded one was, by whom and by which way that was."""
    run = _run(recording, agent)
    events = event_buffer(run)
    events.is_enabled = False
    start: dict[str, Any] = start_part(
        task=recording.task, history=list(recording.history), run=started_as(run)
    )
    return Checkpoint(
        run=run,
        sealer=sealer_of(run),
        parts=[start],
        last_tag=b"",
        counters=Counters(),
        marks={},
        events=events,
        give_up=_never,
        sequence=0,
        stop=False,
        config=agent.config,
        now=run.created_at,
        now_at=boottime(),
        is_start_told=True,
    )


def _run(recording: Recording, agent: AgentNow) -> Run:
    run_id = new_id()
    return Run(
        id=run_id,
        correlation_id=run_id,
        loop=REPLAY,
        agent_key=agent.key,
        agent_version=agent.version,
        entry=recording.entry,
        mission=recording.mission,
        started_by=recording.started_by,
        recording=agent.recording,
        key_id=keyring().newest,
        attempt=1,
        created_at=timezone.now(),
    )


def _never() -> bool:
    return False


def _uncounted(_seconds: float) -> None:
    """A step that kept nothing and waited for no tool says nothing of how long steps take."""
