"""Ask for the syncs whose slot has come: the job and the source's next slot are one commit, so a slot is one job at most."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from django.db import connection, transaction

from liyagent.access.permissions import OPERATE
from liyagent.access.standing import standing_of
from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from liyagent.core.schedule import latest_slot, next_slot
from liyagent.core.transactions import require_transaction
from liyagent.jobs.ask import keep_job
from liyagent.jobs.sources.kinds import KIND
from liyagent.jobs.sources.models import Source

MOST_A_LOOK = 100
LONGEST_PROBLEM = 300
DUE = """
SELECT id, liyagent_now() FROM sources_source WHERE next_slot <= (SELECT liyagent_now()) ORDER BY next_slot LIMIT 1
"""


def sync_due(give_up: Callable[[], bool], *, limit: int = MOST_A_LOOK) -> int:
    """Ask for the syncs that are due, at most `limit`, and return how many sources were dealt with.

    Of slots that were missed the latest is made up for. Where a sync of the source goes on, the slot is skipped and audited. A
    source whose last saver may no longer operate stands still, with the reason.
    """
    count = 0
    while count < limit and not give_up():
        with transaction.atomic(durable=True):
            with connection.cursor() as cursor:
                cursor.execute(f"{DUE} FOR UPDATE SKIP LOCKED")
                row = cursor.fetchone()
            if row is None:
                break
            _settle(Source.objects.get(id=row[0]), row[1])
        count += 1
    return count


def _settle(source: Source, now: datetime) -> None:
    require_transaction("asking for a sync that is due")
    first = source.next_slot
    assert first is not None
    try:
        slot = latest_slot(source.schedule, source.timezone, first=first, until=now)
        following = next_slot(source.schedule, source.timezone, slot)
    except BadInput as error:
        _stand_still(source, str(error))
        return
    refusal = standing_of(source.saved_by, OPERATE)
    if refusal:
        _stand_still(source, refusal)
        return
    told = {"source": source.key, "slot": slot.astimezone(UTC).isoformat()}
    job_id = keep_job(KIND, source.key, asked_by=source.saved_by, params={"slot": told["slot"]})
    if job_id is None:
        record("source.sync_skipped", actor="schedule", detail=told)
    Source.objects.filter(id=source.id).update(next_slot=following)


def _stand_still(source: Source, problem: str) -> None:
    Source.objects.filter(id=source.id).update(next_slot=None, problem=problem[:LONGEST_PROBLEM])
    detail = {"source": source.key, "why": problem[:LONGEST_PROBLEM]}
    record("source.schedule_stopped", actor="schedule", detail=detail)
