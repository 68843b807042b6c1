"""End a cohort replay without a verdict: cancelled or failed, once, with its audit row."""

from __future__ import annotations

from uuid import UUID

from liyagent.audit.record import record
from liyagent.core.plain import clean_text
from liyagent.core.transactions import require_transaction
from liyagent.jobs.models import NOW, Job, JobStatus
from liyagent.replays.ask import told_override
from liyagent.replays.models import CohortReplay, ReplayStatus

LIVE = (ReplayStatus.QUEUED, ReplayStatus.RUNNING)
LONGEST_REASON = 500
LEFT = "its job ended before it was done"


def end_replay(replay_id: UUID, status: ReplayStatus, reason: str, *, actor: str) -> bool:
    """End it within the caller's transaction; whether it had not ended before."""
    require_transaction("ending a cohort replay")
    said = clean_text(reason)[:LONGEST_REASON]
    rows = CohortReplay.objects.filter(id=replay_id, status__in=LIVE)
    if not rows.update(status=status, reason=said, ended_at=NOW):
        return False
    record_end(CohortReplay.objects.get(id=replay_id), actor=actor)
    return True


def record_end(replay: CohortReplay, *, actor: str) -> None:
    """Audit how it ended, with override and verdict (RP-06)."""
    detail = {
        "replay": str(replay.id),
        "event": "ended",
        "status": replay.status,
        "version": replay.agent_version,
        "override": told_override(replay.override),
        "verdict": replay.verdict,
        "beyond_baseline": replay.beyond_baseline,
        "digest": replay.digest,
        "reason": replay.reason,
    }
    record("agent.cohort_replay", actor=actor, mission=replay.mission, detail=detail, agent=replay.agent_key)  # fmt: skip


def status_after(job: Job) -> ReplayStatus:
    """Return what a replay whose job ended otherwise than done is."""
    is_cancelled = job.status == JobStatus.CANCELLED
    return ReplayStatus.CANCELLED if is_cancelled else ReplayStatus.FAILED
