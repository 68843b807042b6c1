"""An agent with a week of the same work behind it: to replay under a cheaper model, and to find a routine in."""

from __future__ import annotations

from liyagent.core.canonical import digest
from liyagent.demo.vendors.alerts import FIRST
from runs.start import start_run

AGENT = "alert-desk"
# As many alerts were looked after; those behind them are for trying what was made of it.
LOOKED_AFTER = 16


def task_of(number: int) -> str:
    """Return what the agent is asked about an alert. Its scripts read the alert's id from the fourth word."""
    return f"Look after alert ALR-{number} and say what you did."


def start_desk(*, started_by: str, start_key: str) -> int:
    """Start a run for each alert that was looked after, once for ever; return how many are new."""
    tasks = [task_of(FIRST + it) for it in range(LOOKED_AFTER)]
    started = [
        start_run(
            agent_key=AGENT,
            task=task,
            entry="seed",
            started_by=started_by,
            mission="",
            request_id="",
            start_key=f"{start_key}-{number}",
            body_digest=digest(task),
        )
        for number, task in enumerate(tasks, start=FIRST)
    ]
    return sum(it.is_new for it in started)
