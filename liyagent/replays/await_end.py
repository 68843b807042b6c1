"""Wait for a cohort replay, as whoever typed a command does: how far it is, and whether anybody carries it at all."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from liyagent.jobs.models import NOW, Job
from liyagent.leases.models import Holder
from liyagent.replays.end import LIVE
from liyagent.replays.models import CohortReplay

LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """`done` of `total` replays, in words as well."""

    done: int
    total: int
    words: str


def await_replay(
    replay_id: UUID, *, tell: Callable[[Progress], None], patience_seconds: float
) -> bool:
    """Return once it has ended, telling how far it is; false where no process was there for so long."""
    lonely_since: float | None = None
    while _status(replay_id) in LIVE:
        if (progress := _progress(replay_id)) is not None:
            tell(progress)
        if not is_anybody_there():
            lonely_since = lonely_since or time.monotonic()
            if time.monotonic() > lonely_since + patience_seconds:
                return False
        else:
            lonely_since = None
        time.sleep(LOOK_SECONDS)
    # What was done since the last look is told too.
    if (progress := _progress(replay_id)) is not None:
        tell(progress)
    return True


def is_anybody_there() -> bool:
    """Whether a process is there that takes jobs."""
    return bool(Holder.objects.filter(renew_by__gt=NOW, is_draining=False).exists())


def _status(replay_id: UUID) -> str:
    return str(CohortReplay.objects.values_list("status", flat=True).get(id=replay_id))


def _progress(replay_id: UUID) -> Progress | None:
    jobs = CohortReplay.objects.filter(id=replay_id).values("job_id")
    row = Job.objects.filter(id__in=jobs).values("done", "total", "words").first()
    if row is None or not row["total"]:
        return None
    return Progress(done=row["done"], total=row["total"], words=row["words"])
