"""Whose ids the code that works on a job works under."""

from __future__ import annotations

from liyagent.jobs.models import Job
from missions.context import Stamp


def stamp_of(job: Job) -> Stamp:
    """Return the stamp of a job: the mission and the request that it was asked for in, whoever works on it (MI-06)."""
    return Stamp(request_id=job.request_id, mission=job.mission)
