"""Cancel a task: the stop of its run. Canceled twice it is canceled once (FL-80)."""

from __future__ import annotations

from liyagent.entry.a2a.caller import Asked
from liyagent.entry.a2a.errors import NotCancelable
from liyagent.entry.a2a.find import find_task
from liyagent.entry.a2a.models import State, Task
from liyagent.entry.a2a.wire import task_id_of
from liyagent.entry.begin import begin_arrival
from runs.errors import RunEnded, RunNotFound
from runs.stop import stop_run

REASON = "canceled over A2A"


def cancel(asked: Asked) -> Task:
    """Ask a task's run to stop, and return the task as it stands; it is canceled when the run has stopped.

    One that is canceled already is returned as it is. Raises `NoSuchTask`, `NotCancelable` for one that ended otherwise.
    """
    task = find_task(asked, task_id_of(asked.params, "id"))
    if task.state == State.CANCELED:
        return task
    _check(task)
    try:
        _stop(task, asked.caller.username)
    except RunEnded as error:
        # It ended since it was looked at: as stopped, perhaps.
        task.refresh_from_db()
        if task.state != State.CANCELED:
            raise NotCancelable(f"it is {task.state}", task=task.run_id) from error
    return find_task(asked, task.run_id)


def _stop(task: Task, actor: str) -> None:
    try:
        stop_run(run_id=task.run_id, actor=actor, reason=REASON)
    except RunNotFound:
        # Received, and not started yet: a run that is stopped before its first step tells how it ended.
        begin_arrival(task.run_id)
        task.refresh_from_db()
        _check(task)
        stop_run(run_id=task.run_id, actor=actor, reason=REASON)


def _check(task: Task) -> None:
    if task.is_ended:
        raise NotCancelable(f"it is {task.state}", task=task.run_id)
