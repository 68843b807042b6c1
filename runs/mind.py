"""What decides about the next step of a run: one loop carries them all."""

from __future__ import annotations

from typing import Protocol

from liyagent.providers.types import ModelAnswer
from runs.authority import AgentNow
from runs.ending import Ending


class Mind(Protocol):
    """Decides about the steps of one attempt; made anew for each, from what is stored."""

    def begin(self, agent: AgentNow) -> None:
        """Take up what the checkpoint tells. Raises `MayNotGoOn`."""

    def next(self) -> ModelAnswer | Ending:
        """Return the next step, with calls, once all calls of the last were heard of; or how the run ends.

        Raises `MayNotGoOn`, `HandedBack`.
        """
