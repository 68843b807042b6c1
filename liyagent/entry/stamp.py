"""Whose ids the code works under that starts what came in, and hands on what is owed for it."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from liyagent.entry.models import Arrival
from missions.context import NO_STAMP, Stamp, current_stamp
from runs.models import Run
from runs.stamp import STAMPED
from runs.stamp import stamp_of as stamp_of_run


def stamp_of(arrival: Arrival) -> Stamp:
    """Return the stamp of an arrival: its own mission and request, whoever starts it, and the address of whoever asks now."""
    return replace(
        current_stamp(),
        request_id=arrival.request_id,
        mission=arrival.mission,
        agent=arrival.agent_key,
    )


def stamp_of_what_came(run_id: UUID) -> Stamp:
    """Return the stamp of the run that something is owed or told of; of its arrival, where nothing was started yet (MI-06)."""
    run = Run.objects.filter(id=run_id).only(*STAMPED).first()
    if run is not None:
        return stamp_of_run(run)
    arrival = Arrival.objects.filter(run_id=run_id).defer("sealed").first()
    if arrival is None:
        return NO_STAMP
    return Stamp(request_id=arrival.request_id, mission=arrival.mission, agent=arrival.agent_key)
