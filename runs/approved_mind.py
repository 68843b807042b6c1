"""A person decided: the run makes the one call that was approved after its own run went on, and ends with it."""

from __future__ import annotations

from dataclasses import replace

from liyagent.providers.types import ModelAnswer
from runs.approved_run import UNDO_KEY, ending_of_call
from runs.attempt import Attempt
from runs.authority import AgentNow
from runs.ending import Ending, MayNotGoOn
from runs.model_mind import take_up


class ApprovedMind:
    """Has nothing to ask for: the call stands in the run's first step."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        # One that is an undo is undone by nothing.
        attempt.checkpoint.undo_key = attempt.checkpoint.parts[0].get(UNDO_KEY, "")

    def begin(self, agent: AgentNow) -> None:
        """Take up what was written. It was given our own words, and no model reads them: nothing checks them."""
        take_up(self._attempt, replace(agent, guardrails={}))

    def next(self) -> ModelAnswer | Ending:
        """Raise `MayNotGoOn` with what came of the call: that is how the run ends."""
        raise MayNotGoOn(ending_of_call(self._attempt.messages[-1]))
