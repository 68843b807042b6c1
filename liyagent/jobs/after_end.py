"""What a kind owes the other end once its job has ended: done by any process, again until it is done or a day has passed."""

from __future__ import annotations

import logging
from collections.abc import Callable

import psycopg
from django.db import DatabaseError, InterfaceError, connection, transaction

from liyagent.audit.record import record
from liyagent.core.errors import LiyagentError
from liyagent.core.plain import clean_text
from liyagent.jobs.handlers import HANDLERS
from liyagent.jobs.models import Job
from liyagent.jobs.stamp import stamp_of
from missions.context import stamped

logger = logging.getLogger(__name__)

# A process that dies with it is relieved after the first; after the last nobody tries any more.
CLAIM_SECONDS, AGAIN_SECONDS, GIVE_UP_SECONDS = 120.0, 60.0, 86_400.0
MOST_A_LOOK = 50
LONGEST_REASON = 500

OWED = """SELECT id FROM jobs_job WHERE after_end_at <= (SELECT liyagent_now()) AND kind = ANY(%s)
        ORDER BY after_end_at LIMIT 1"""
CLAIM = f"""
UPDATE jobs_job SET after_end_at = liyagent_now() + make_interval(secs => %s)
    WHERE id = ({OWED} FOR UPDATE SKIP LOCKED)
    RETURNING id, ended_at < liyagent_now() - make_interval(secs => %s)
"""  # noqa: S608 - of constants alone
SETTLE = """
UPDATE jobs_job SET after_end_at = CASE WHEN %s > 0 THEN liyagent_now() + make_interval(secs => %s) END WHERE id = %s
"""


def owing() -> list[str]:
    """Return the kinds that owe something after the end."""
    return [kind for kind, handler in HANDLERS.items() if handler.after_end is not None]


def do_after_end(give_up: Callable[[], bool], *, limit: int = MOST_A_LOOK) -> int:
    """Do what ended jobs owe, at most `limit` of them, and return how many were looked at.

    One that fails is tried again each minute; after a day it is given up, with the audit row `job.left_over` that says why.
    """
    count = 0
    while count < limit and not give_up():
        with connection.cursor() as cursor:
            cursor.execute(CLAIM, [CLAIM_SECONDS, owing(), GIVE_UP_SECONDS])
            row = cursor.fetchone()
        if row is None:
            break
        job = Job.objects.get(id=row[0])
        with stamped(stamp_of(job)):
            _do(job, is_last=row[1])
        count += 1
    return count


def _do(job: Job, *, is_last: bool) -> None:
    handler = HANDLERS[job.kind]
    assert handler.after_end is not None
    try:
        seconds, why = handler.after_end(job), "it is still not done a day after the end"
    except LiyagentError as error:
        logger.warning("what job %s owes after its end is tried again: %s", job.id, error)
        seconds, why = AGAIN_SECONDS, str(error)
    except (DatabaseError, InterfaceError, psycopg.Error):
        raise
    except Exception as error:
        logger.exception("what job %s owes after its end went wrong, and is tried again", job.id)
        seconds, why = AGAIN_SECONDS, f"{type(error).__name__}: {error}"
    with transaction.atomic(durable=True):
        if is_last and seconds > 0:
            seconds = 0.0
            told = {"job": str(job.id), "kind": job.kind, "subject": job.subject}
            detail = {**told, "reason": clean_text(why)[:LONGEST_REASON]}
            record("job.left_over", actor=job.asked_by, mission=job.mission, detail=detail)
        with connection.cursor() as cursor:
            cursor.execute(SETTLE, [seconds, seconds, job.id])
