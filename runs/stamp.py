"""Whose ids the code that carries a run works under."""

from __future__ import annotations

from missions.context import Stamp
from runs.models import Run

STAMPED = ("request_id", "mission", "agent_key", "correlation_id")


def stamp_of(run: Run) -> Stamp:
    """Return the stamp of a run: its mission, its request and its agent, wherever it is carried (MI-06)."""
    return Stamp(
        request_id=run.request_id,
        mission=run.mission,
        agent=run.agent_key,
        correlation_id=run.correlation_id,
    )
