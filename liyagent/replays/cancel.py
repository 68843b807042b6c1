"""End a cohort replay before it is done."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from liyagent.jobs.end import end_job
from liyagent.jobs.models import JobStatus
from liyagent.replays.end import end_replay
from liyagent.replays.errors import ReplayEnded
from liyagent.replays.listing import find_replay
from liyagent.replays.models import CohortReplay, ReplayStatus


def cancel_replay(replay_id: str | UUID, *, actor: str) -> CohortReplay:
    """End it and its job in one commit: what was replayed is kept, what is under way is thrown away. Raises `ReplayUnknown`, `ReplayEnded`."""
    replay = find_replay(replay_id)
    reason = f"cancelled by {actor}"
    with transaction.atomic(durable=True):
        # The job first: whoever keeps a step, or the verdict, locks it before the replay.
        if replay.job_id is not None:
            end_job(replay.job_id, JobStatus.CANCELLED, reason, actor=actor)
        is_done = end_replay(replay.id, ReplayStatus.CANCELLED, reason, actor=actor)
    replay.refresh_from_db()
    if not is_done:
        raise ReplayEnded(f"it has ended as {replay.status}")
    return replay
