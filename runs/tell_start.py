"""Tell that a run was started, once: by the first attempt that finds nothing told of it in the log (EV-01).

What is buffered goes with the attempt's next write, and a process may die before it: then the next attempt tells. A write
that takes no events along, such as the mark of a call that a person approved, is no sign that a start was told.
"""

from __future__ import annotations

from typing import Any

from events.buffer import EventBuffer
from runs.checkpoint import Checkpoint
from runs.guard import ACTION as GUARDED
from runs.guard import Given
from runs.handing import read_task
from runs.models import Run


def tell_start(checkpoint: Checkpoint, *, holder: str, given: Given | None = None) -> None:
    """Buffer a run's start, and what acted on its task when it was sealed, unless the log tells of it.

    The task is told in words only where checks have looked at it (`given`) and none refuses it. One that was handed down is
    read then, and that is kept (HO-03).
    """
    if checkpoint.is_start_told:
        return
    checkpoint.is_start_told = True
    events, start = checkpoint.events, checkpoint.parts[0]
    told = events.digest(start["task"]) if given is None else _task(events, given)
    add_start(events, checkpoint.run, holder=holder, task=told)
    for facts in start.get("guarded", ()):
        events.add(GUARDED, **facts)
    if given is not None:
        read_task(checkpoint)


def add_start(events: EventBuffer, run: Run, *, holder: str, **known: Any) -> None:
    """Buffer the start of a run; `known` is its task where that can be opened."""
    events.add(
        "run.started",
        agent=run.agent_key,
        version=run.agent_version,
        entry=run.entry,
        started_by=run.started_by,
        holder=holder,
        **known,
    )


def _task(events: EventBuffer, given: Given) -> Any:
    return events.words(given.task) if given.refused is None else events.digest(given.task)
