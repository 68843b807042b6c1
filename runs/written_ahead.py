"""Which runs are written ahead of each step, and so go on when their process dies (CR-07, CR-09)."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from django.conf import settings

from liyagent.agents.sub_agents import SERVER

# The ways in that `TICKETIQ_CRASH_RESUME_ENTRIES` is about: what came in by another is always written ahead.
ENTRIES = frozenset({"cron", "webhook", "ticket", "copilot", "teams"})


def is_written_ahead(*, entry: str, may_wait: bool, tool_patterns: Iterable[str]) -> bool:
    """Whether a run starting now is: all are, but those of these ways where the setting is false.

    One that may wait, for a person or for an agent it may hand work to, is all the same: to wait is to be stored.
    """
    if settings.LIYAGENT.crash_resume_entries or entry not in ENTRIES or may_wait:
        return True
    return any(fnmatchcase(SERVER, it.partition("/")[0]) for it in tool_patterns)
