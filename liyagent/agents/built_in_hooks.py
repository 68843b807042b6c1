"""Hooks that are always there."""

from __future__ import annotations

import logging
import re
from typing import Any

from liyagent.agents.hooks import About, Hook, HookRefused, register_hook

logger = logging.getLogger(__name__)

DELETING = re.compile(
    r"(?:^|[^a-z])(?:delete|destroy|drop|erase|purge|remove|wipe)(?![a-z])", re.IGNORECASE
)
BORDER = re.compile(r"(?<=[a-z])(?=[A-Z])")


@register_hook("log_calls")
class LogCalls(Hook):
    """One line of the log for each call, with its fate and duration; no arguments, no results."""

    def after_call(self, about: About, call: Any, outcome: Any) -> None:
        """Log it."""
        logger.info(
            "%s %s of %s, step %d: %s was %s after %d ms",
            "replay" if about.is_replay else "run",
            about.run_id,
            about.agent,
            about.step,
            call.name,
            outcome.fate.value,
            outcome.duration_ms,
        )


@register_hook("refuse_deletes")
class RefuseDeletes(Hook):
    """No call of a tool whose name says that it deletes, whatever its contract or a policy lets through."""

    def before_call(self, about: About, call: Any) -> None:
        """Refuse it."""
        if DELETING.search(BORDER.sub("_", call.tool)):
            raise HookRefused(
                f"agent {about.agent} deletes nothing, and {call.name} says that it does"
            )
