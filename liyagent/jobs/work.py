"""Work: take what is due, carry it step by step, each step's effect and cursor in one commit."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import psycopg
from django.db import InterfaceError, InternalError, OperationalError, connection, transaction

from liyagent.core.errors import LiyagentError
from liyagent.core.plain import clean_text, to_plain
from liyagent.core.readiness import STATE
from liyagent.core.transactions import forbid_transaction
from liyagent.jobs.end import end_job
from liyagent.jobs.errors import LostJob
from liyagent.jobs.handlers import HANDLERS, Beat, Handler, Step, kinds_of
from liyagent.jobs.models import Job, JobStatus
from liyagent.jobs.stamp import stamp_of
from liyagent.jobs.take import IN_HAND, MOST_LOSSES_HERE, hand_back
from liyagent.leases.own import OWN
from missions.context import stamped

logger = logging.getLogger(__name__)

# After this a resumable job lets others have the thread.
TURN_SECONDS = 10.0
# So often a job without steps looks whether it is still this attempt's.
LOOK_SECONDS = 0.5
LARGEST_CURSOR_BYTES = 256 << 10
LONGEST_WORDS = 500

# First, so that what `keep` writes is fenced: the row is locked, and no other attempt's from here to the commit.
KEEP = """
UPDATE jobs_job SET cursor = %s::jsonb, done = %s, total = %s, words = %s, result = coalesce(%s::jsonb, result), losses_here = 0
    WHERE id = %s AND attempt = %s AND status = 'running'
"""


IS_OURS = "SELECT FROM jobs_job WHERE id = %s AND attempt = %s AND status = 'running'"


def work_due(give_up: Callable[[], bool]) -> int:
    """Take and carry what is due, one job after the other, until there is none or `give_up`; return how many turns were had.

    Of the kinds that give their turn back. A process that is no holder, or drains, takes nothing. Where `give_up` says so, or the
    process drains, a job is handed back at its next step.
    """
    return _work(give_up, keeps_turn=False)


def work_long(give_up: Callable[[], bool]) -> int:
    """As `work_due`, of the kinds that keep their turn."""
    return _work(give_up, keeps_turn=True)


def _work(give_up: Callable[[], bool], *, keeps_turn: bool) -> int:
    def is_over() -> bool:
        return give_up() or STATE.is_draining

    turns = 0
    while OWN.holder is not None and not is_over():
        job = IN_HAND.take(OWN.holder, kinds_of(keeps_turn=keeps_turn))
        if job is None:
            break
        try:
            with stamped(stamp_of(job)):
                carry(job, is_over)
        finally:
            IN_HAND.leave(job)
        turns += 1
    return turns


def values_to_take() -> list[Any]:
    """Return what `TO_TAKE` asks for: the jobs that this process may take and that give their turn back."""
    return IN_HAND.values_to_take(OWN.holder, kinds_of(keeps_turn=False))


def values_to_take_long() -> list[Any]:
    """As `values_to_take`, of the kinds that keep their turn."""
    return IN_HAND.values_to_take(OWN.holder, kinds_of(keeps_turn=True))


def carry(job: Job, give_up: Callable[[], bool]) -> None:
    """Carry a job that this process took: to its end, to a wait, or to the end of its turn.

    What goes wrong fails it with the reason; a database that is away is raised, and the job taken again once it is back.
    """
    forbid_transaction(f"carrying {job}")
    handler = HANDLERS[job.kind]
    if job.attempt > 1 and not handler.is_resumable:
        _end(job, JobStatus.INTERRUPTED, "its process stopped, and it cannot go on where that was")
        return
    if job.losses_here > MOST_LOSSES_HERE:
        _end(job, JobStatus.FAILED, f"its process was lost {job.losses_here} times at the same step, the last one being {job.done}")  # fmt: skip
        return
    try:
        _carry(job, handler, give_up)
    except LostJob:
        logger.info("job %s is not this process's any more", job.id)
    except (OperationalError, InterfaceError, InternalError, psycopg.OperationalError):
        raise
    except LiyagentError as error:
        _end(job, JobStatus.FAILED, str(error))
    except Exception as error:
        logger.exception("job %s failed", job.id)
        _end(job, JobStatus.FAILED, f"{type(error).__name__}: {error}")


def _carry(job: Job, handler: Handler, give_up: Callable[[], bool]) -> None:
    """What is begun beside the steps is ended by their close, before anybody else can take the job."""
    with _steps(handler, job) as steps:
        handed_back_for = _go_through(job, handler, steps, give_up)
    if handed_back_for is None:
        _end(job, JobStatus.DONE, "")
    elif handler.is_resumable:
        hand_back(job, seconds=handed_back_for)
    else:
        _end(job, JobStatus.INTERRUPTED, "its process was stopped")


def _go_through(
    job: Job, handler: Handler, steps: Iterator[Step | Beat], give_up: Callable[[], bool]
) -> float | None:
    """Keep step after step; return None where there is no more, else after how many seconds the job goes on."""
    until = time.monotonic() + TURN_SECONDS
    looked = time.monotonic()
    for step in steps:
        if isinstance(step, Beat):
            if time.monotonic() > looked + LOOK_SECONDS:
                _look(job)
                looked = time.monotonic()
        else:
            _keep(job, step)
            if step.is_mark:
                continue
            if step.again_in > 0 and handler.is_resumable:
                return step.again_in
        if give_up():
            return 0.0
        is_over = not handler.keeps_turn and time.monotonic() > until
        if handler.is_resumable and is_over:
            return 0.0
    return None


@contextmanager
def _steps(handler: Handler, job: Job) -> Iterator[Iterator[Step | Beat]]:
    steps = handler.steps(job)
    try:
        yield steps
    finally:
        if isinstance(steps, Generator):
            steps.close()


def _look(job: Job) -> None:
    with connection.cursor() as cursor:
        cursor.execute(IS_OURS, [job.id, job.attempt])
        if not cursor.rowcount:
            raise LostJob


def _keep(job: Job, step: Step) -> None:
    cursor_text = _text(step.cursor)
    result = None if step.result is None else _text(step.result)
    words = clean_text(step.words)[:LONGEST_WORDS]
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute(
                KEEP, [cursor_text, step.done, step.total, words, result, job.id, job.attempt]
            )
            if not cursor.rowcount:
                raise LostJob
        step.keep()
    job.done = step.done


def _text(plain: dict[str, Any]) -> str:
    return orjson.dumps(to_plain(plain, limit_bytes=LARGEST_CURSOR_BYTES)).decode()


def _end(job: Job, status: JobStatus, reason: str) -> None:
    end_job(job.id, status, reason, attempt=job.attempt)
