"""How soon a server's command may be started again: one that keeps dying is not started over and over."""

from __future__ import annotations

import time

from liyagent.core.errors import LiyagentError

# A child that lived so long has worked; one that did not counts as a quick death.
LIVED_SECONDS = 10.0
FREE_DEATHS = 2
LONGEST_REASON = 300
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0


class DiesTooOften(LiyagentError):
    """The command dies soon after each start; it is started again after a pause."""

    code = "gateway.dies_too_often"


class Restarts:
    """The quick deaths in a row of one server's command; each beyond `FREE_DEATHS` doubles the pause."""

    def __init__(self) -> None:
        """Begin with none."""
        self._deaths = 0
        self._reason = ""
        self._started = 0.0
        self._not_before = 0.0

    def begin(self) -> None:
        """Note a start. Raises `DiesTooOften` while the pause lasts."""
        now = time.monotonic()
        if now < self._not_before:
            raise DiesTooOften(
                f"the command died {self._deaths} times soon after its start; "
                f"it is started again in {self._not_before - now:.0f} s; last, {self._reason}"
            )
        self._started = now

    def died(self, reason: str) -> None:
        """Note that the child of the last start ended by itself, or was no server."""
        self._reason = reason[:LONGEST_REASON]
        now = time.monotonic()
        self._deaths = 1 if now - self._started >= LIVED_SECONDS else self._deaths + 1
        beyond = self._deaths - FREE_DEATHS
        if beyond > 0:
            pause = FIRST_PAUSE_SECONDS * 2 ** min(beyond - 1, 16)
            self._not_before = now + min(pause, LONGEST_PAUSE_SECONDS)
