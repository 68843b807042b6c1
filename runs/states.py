"""Where a run stands, as pages show it."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.safestring import SafeString

from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from runs.models import Run, RunStatus

STATES: Mapping[str, str] = {
    RunStatus.RUNNING: GOOD,
    RunStatus.ANSWERED: QUIET,
    RunStatus.QUEUED: QUIET,
    RunStatus.WAITING: WARN,
    RunStatus.PAUSED: WARN,
    RunStatus.DECLINED: WARN,
    RunStatus.STOPPED: WARN,
    RunStatus.INTERRUPTED: WARN,
    RunStatus.FAILED: BAD,
}


def state_of(run: Run) -> SafeString:
    """Return a run's status in words."""
    if run.stop_requested and not run.is_ended:
        return pill(f"{run.status}, asked to stop", WARN)
    return status_pill(run.status)


def status_pill(status: str) -> SafeString:
    """Return a status as it is shown; also one that there is not, as somebody wrote by hand."""
    return pill(status, STATES.get(status, QUIET))
