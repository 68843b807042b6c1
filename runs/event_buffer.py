"""The buffer of a run's events, tagged as the run's."""

from __future__ import annotations

from django.conf import settings

from events.buffer import EventBuffer
from events.keys import tagger_of
from events.tags import BESIDE
from runs.models import Run

FULL = "full"


def event_buffer(run: Run, *, attempt: int = BESIDE) -> EventBuffer:
    """Return an empty buffer for an attempt that carries the run, or for one event that is written beside it."""
    conf = settings.LIYAGENT
    return EventBuffer(
        tagger=tagger_of(
            correlation_id=run.correlation_id, run_id=run.id, mission=run.mission, attempt=attempt
        ),
        is_full=run.recording == FULL,
        is_enabled=conf.run_events_enabled,
        digest_key=conf.digest_key,
    )
