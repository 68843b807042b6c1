"""A nudge within the process: a run was queued here, so its runner need not wait for its next poll."""

from __future__ import annotations

from threading import Event

QUEUED = Event()
