"""Open an attempt's checkpoint, or end the run whose checkpoint is not, or cannot be, opened (CR-16)."""

from __future__ import annotations

import logging

from liyagent.core.seal import KeyMissing, SealBroken
from runs import hot
from runs.checkpoint import Checkpoint, Stored, open_checkpoint
from runs.endings import EndError
from runs.errors import CheckpointBroken
from runs.finish import end_unopened
from runs.hot import GiveUp
from runs.models import RunStatus

logger = logging.getLogger(__name__)

MOST_LOSSES = 2


def opened(stored: Stored, *, holder: str, give_up: GiveUp) -> Checkpoint | None:
    """Return the checkpoint of an attempt just taken, None where its run was ended instead.

    Raises `LostLease` where another process has taken it over, `KeyMissing` where its key is not here and nobody stopped it.
    """
    run = stored.run
    if run.losses > MOST_LOSSES:
        reason = (
            f"lost {run.losses} times, more than {MOST_LOSSES}: it may be what ends its processes"
        )
        end_unopened(stored, holder=holder, reason=reason, error=EndError.LOST)
        return None
    if not run.is_written_ahead and run.sequence:
        end_unopened(
            stored,
            holder=holder,
            status=RunStatus.INTERRUPTED,
            reason="its process ended, and it was not written ahead (TICKETIQ_CRASH_RESUME_ENTRIES)",
            error=EndError.NOT_WRITTEN_AHEAD,
        )
        return None
    try:
        return open_checkpoint(stored, give_up=give_up)
    except KeyMissing:
        if not run.stop_requested:
            raise
        end_unopened(
            stored,
            holder=holder,
            status=RunStatus.STOPPED,
            reason=hot.stopped_by(run.id, give_up=give_up),
            error=EndError.STOPPED,
        )
    except (SealBroken, CheckpointBroken) as error:
        logger.error("checkpoint does not verify: %s", error)
        end_unopened(
            stored,
            holder=holder,
            reason=f"its checkpoint does not verify: {error}",
            error=EndError.CHECKPOINT_BROKEN,
        )
    return None
