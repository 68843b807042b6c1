"""Fire what is due: a slot is an arrival, and the trigger's next slot, in one commit; then its run is begun (CR-03).

A slot is named by its instant in UTC, once for a trigger in the database: of two processes one fires it, and one that
dies has either fired it and moved on, or done neither (ruling 31, FL-68).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain, islice, takewhile
from uuid import UUID

from django.db import connection, transaction

from liyagent.audit.record import record
from liyagent.core.schedule import (
    ScheduleBad,
    ZoneUnknown,
    latest_slot,
    next_slot,
    slots,
)
from liyagent.core.transactions import forbid_transaction, require_transaction
from liyagent.entry.arrive import Arriving, keep_arrival
from liyagent.entry.begin import begin_arrival
from liyagent.entry.cron.models import NOW, WAY, CronTrigger
from liyagent.entry.models import Arrival, ArrivalState

MOST_A_LOOK = 100
# Later than this a slot was missed, and is caught up or not; a look comes each second.
ON_TIME = timedelta(seconds=60)
# Of what was missed so many have a row each; the rest has one, and is counted no further than this.
MOST_ROWS, MOST_COUNTED = 100, 10_000
MANUAL, MISSED = "manual:", "missed:"
DUE = """
SELECT id, liyagent_now() FROM cron_crontrigger WHERE next_slot <= (SELECT liyagent_now()) AND problem = ''
    ORDER BY next_slot LIMIT 1 FOR UPDATE SKIP LOCKED
"""


def fire_due(give_up: Callable[[], bool], *, limit: int = MOST_A_LOOK) -> int:
    """Fire the triggers that are due, at most `limit`, and return how many were dealt with. Raises the database's errors.

    What was kept and could not be begun is begun by the round of any process.
    """
    forbid_transaction("firing triggers")
    count = 0
    while count < limit and not give_up():
        with transaction.atomic(durable=True):
            found = _claimed()
            kept = settle_due(found[0], found[1]) if found else []
        if found is None:
            break
        begin_all(kept)
        count += 1
    return count


def begin_all(kept: Sequence[UUID]) -> None:
    """Start the runs of arrivals that were kept; one that its agent refuses is recorded as refused."""
    for run_id in kept:
        begin_arrival(run_id)


def settle_due(trigger: CronTrigger, now: datetime) -> list[UUID]:
    """Record every slot of a trigger up to now, move it on to the next, and return what is to be begun after the commit.

    The latest slot is fired, unless the run of an earlier one goes on, or it is late and is not to be caught up; what was
    missed before it is recorded as skipped. Within the caller's transaction, which has locked the trigger's row. One whose
    slots cannot be told stands still, with the reason.
    """
    require_transaction("firing a trigger")
    first = trigger.next_slot
    if first is None or trigger.problem or first > now:
        return []
    try:
        last = latest_slot(trigger.schedule, trigger.timezone, first=first, until=now)
        following = next_slot(trigger.schedule, trigger.timezone, last)
    except (ScheduleBad, ZoneUnknown) as error:
        _stand_still(trigger, str(error))
        return []
    is_fired = trigger.catch_up or now - last <= ON_TIME
    _keep_missed(trigger, first, last, told=_why_missed(last, is_fired=is_fired))
    kept = _keep_slot(trigger, last, missed="" if is_fired else _why_missed(last, is_fired=False))
    trigger.next_slot, trigger.last_slot = following, last
    trigger.save(update_fields=["next_slot", "last_slot"])
    return kept


def slot_id(slot: datetime) -> str:
    """Return the name of a slot: its instant in UTC."""
    return slot.astimezone(UTC).isoformat().replace("+00:00", "Z")


def open_fires(key: str) -> Iterator[UUID]:
    """Yield the runs of slots that go on, or are about to begin; not those that were asked for by hand."""
    is_open = (ArrivalState.RECEIVED, ArrivalState.STARTED)
    found = Arrival.objects.filter(way=WAY, source=key, state__in=is_open)
    yield from found.exclude(delivery_id__startswith=MANUAL).order_by("run_id").values_list("run_id", flat=True)[:1]  # fmt: skip


def _claimed() -> tuple[CronTrigger, datetime] | None:
    with connection.cursor() as cursor:
        cursor.execute(DUE)
        row = cursor.fetchone()
    return (CronTrigger.objects.get(id=row[0]), row[1]) if row else None


def _keep_slot(trigger: CronTrigger, slot: datetime, *, missed: str) -> list[UUID]:
    goes_on = next(open_fires(trigger.key), None)
    overlaps = f"run {goes_on} of an earlier slot still goes on" if goes_on else ""
    skipped = missed or overlaps
    kept = keep_arrival(arriving(trigger, slot_id(slot), skipped=skipped))
    return [kept.run_id] if kept.is_new and not skipped else []


def arriving(trigger: CronTrigger, delivery_id: str, *, skipped: str = "") -> Arriving:
    """Return a fire as it is kept."""
    return Arriving(
        way=WAY,
        source=trigger.key,
        delivery_id=delivery_id,
        agent_key=trigger.agent_key,
        started_by=trigger.started_by,
        words={"task": trigger.task},
        skipped=skipped,
    )


def _keep_missed(trigger: CronTrigger, first: datetime, last: datetime, *, told: str) -> None:
    """A row for each slot before the last, the first hundred; one row for the rest."""
    later = slots(trigger.schedule, trigger.timezone, first)
    missed = takewhile(lambda it: it < last, chain([first], later))
    for slot in islice(missed, MOST_ROWS):
        keep_arrival(arriving(trigger, slot_id(slot), skipped=told))
    rest = list(islice(missed, MOST_COUNTED))
    if rest:
        many = f"more than {len(rest)}" if next(missed, None) else str(len(rest))
        more = f"{many} further slots from {slot_id(rest[0])} up to {slot_id(last)} were {told}"
        keep_arrival(arriving(trigger, f"{MISSED}{slot_id(rest[0])}", skipped=more))


def _why_missed(last: datetime, *, is_fired: bool) -> str:
    instead = f"{slot_id(last)} was caught up" if is_fired else "catch_up is off"
    return f"missed: no process fired it in time; {instead}"


def _stand_still(trigger: CronTrigger, problem: str) -> None:
    CronTrigger.objects.filter(pk=trigger.pk).update(problem=problem[:300], updated_at=NOW)
    record("cron.trigger_stopped", actor="cron", detail={"trigger": trigger.key, "why": problem[:300]})  # fmt: skip
