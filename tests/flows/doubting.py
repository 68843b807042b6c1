"""Marked calls as a run leaves them, sealed for their run, for flows that look at what is in doubt."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from liyagent.gateway.outcome import Payload
from runs.checkpoint import sealer_of
from runs.marks import SealedMark
from runs.models import Call, Run
from runs.start import start_run

SINCE = datetime(2026, 11, 29, 3, 0, tzinfo=UTC)
KEY = "the-step-key"


def ended_run(*, agent_key: str = "triage", mission: str = "", status: str = "answered") -> Run:
    """A run that has ended, or stands as told."""
    run_id = start_run(
        agent_key=agent_key, task="Look.", entry="api", started_by="olga", mission=mission, request_id=""
    ).run_id  # fmt: skip
    ended = SINCE if status in {"answered", "failed", "stopped"} else None
    Run.objects.filter(id=run_id).update(status=status, ended_at=ended, model_steps=3)
    return Run.objects.get(id=run_id)


def doubt(run: Run, *, number: int = 0, **facts: Any) -> Call:
    """A write of unknown outcome, marked `number` minutes after three o'clock; `facts` are other columns."""
    known: dict[str, Any] = {
        "server": "jira",
        "tool": "create_issue",
        "step_key": KEY,
        "intent": "sending",
        "fate": "unknown",
        "settlement": "told_unknown",
        "late_finding": "no_reader",
        **facts,
    }
    payload = Payload(
        server=known["server"], tool=known["tool"], args={"title": "disk 4 is full"}, key=known["step_key"],
        mission=run.mission, is_write=True, timeout_seconds=30.0, limit_bytes=1 << 20,
    )  # fmt: skip
    marked_at = SINCE + timedelta(minutes=number)
    mark = SealedMark(
        payload=payload, has_identity=True, key_window_seconds=0, marked_after=marked_at, intent=known["intent"],
        approval=str(known.get("approval_id") or ""),
    )  # fmt: skip
    sealed = mark.seal(sealer_of(run), step=1, index=number)
    return Call.objects.create(
        run_id=run.id, correlation_id=run.correlation_id, step=1, index=number, has_identity=True, intent_digest="d" * 64,
        attempt=1, holder=run.id, marked_at=marked_at, deadline=marked_at, sealed=sealed, **known,
    )  # fmt: skip
