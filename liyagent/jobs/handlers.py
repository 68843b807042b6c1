"""What a kind of job does: a table that the rooms with the kinds fill when the process starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from liyagent.jobs.models import Job


def nothing() -> None:
    """What a step keeps that only moves the cursor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step did. `keep` is called in the transaction that keeps `cursor` and the progress: both or neither.

    It writes rows of ours and sends nothing. `again_in` seconds hands a resumable job back until then: a wait holds no
    thread. `result` is what is told of what came of the job so far; left out, it stays. After an `is_mark`
    the job is not handed back before the next step: what it marks is about to be sent.
    """

    cursor: dict[str, Any]
    done: int
    total: int | None = None
    words: str = ""
    keep: Callable[[], None] = nothing
    again_in: float = 0.0
    result: dict[str, Any] | None = None
    is_mark: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """Nothing to keep: the work goes on beside, and asks whether it still may. Yielded several times a second.

    Where the process drains, or the job was cancelled or taken over, nothing more is asked of the steps: they are closed.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """`steps(job)` yields the steps that are left after `job.cursor`; when it has no more, the job is done.

    Outside of any transaction, and once a take: what it reads stays with it from step to step. It raises `JobFailed` for
    what cannot be done. A kind that is not `is_resumable` ends `interrupted` when its process stops.

    A kind that `keeps_turn` is worked on until it is done, however long that takes: work that is begun side by side would be thrown away
    at the end of each turn. Such kinds have a thread of their own in each process, so that no other job waits for them.

    `after_end(job)` is called once the job has ended, however it did, by any process and at least once: it does what is owed to
    the other end, and returns in how many seconds it is to be called again, 0 where nothing is owed any more. `report` names the page of the
    console, filtered by `job_id__exact`, that tells more of a job.
    """

    steps: Callable[[Job], Iterator[Step | Beat]]
    is_resumable: bool = True
    keeps_turn: bool = False
    after_end: Callable[[Job], float] | None = None
    report: str = ""


HANDLERS: dict[str, Handler] = {}


def kinds_of(*, keeps_turn: bool) -> list[str]:
    """Return the kinds that keep their turn, or all others."""
    return [kind for kind, it in HANDLERS.items() if it.keeps_turn is keeps_turn]
