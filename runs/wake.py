"""A nudge: a run was queued, here or in another process, so the runner need not wait for its next poll."""

from __future__ import annotations

from threading import Event

from django.conf import settings

# Woken by the database too, a runner polls for what nobody tells of: a time that came, a lost word.
SLOWER_WHILE_LISTENING = 4

QUEUED = Event()
LISTENING = Event()


def pause_seconds() -> float:
    """Return how long a runner may wait for `QUEUED` before it looks by itself."""
    return settings.LIYAGENT.poll_seconds * (SLOWER_WHILE_LISTENING if LISTENING.is_set() else 1)
