"""Run a trigger's task now: a fire with a name of its own, beside its slots (FL-68)."""

from __future__ import annotations

from uuid import uuid4

from django.db import transaction
from rest_framework.exceptions import Throttled

from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from liyagent.core.transactions import forbid_transaction
from liyagent.entry.arrive import Arrived, keep_arrival
from liyagent.entry.begin import begin_arrival, check_begun
from liyagent.entry.cron.fire import MANUAL, arriving
from liyagent.entry.cron.models import WAY
from liyagent.entry.cron.triggers import find_trigger
from liyagent.entry.models import Arrival, ArrivalState

# So many of one trigger that were asked for by hand may be open at a time.
MOST_OPEN, AGAIN_SECONDS = 10, 10
LONGEST_KEY = 200


def run_now(key: str, *, actor: str, start_key: str = "") -> Arrived:
    """Start a run of a trigger, paused or not, whatever else of it goes on; its slots stay as they are.

    With a `start_key` (an `Idempotency-Key`) the first that it named is found again. Raises `TriggerUnknown`; `Throttled`
    while too many go on; `ArrivalRefused` where the agent may not start it.
    """
    forbid_transaction("running a trigger by hand")
    if len(start_key) > LONGEST_KEY:
        raise BadInput(f"Idempotency-Key wants at most {LONGEST_KEY} characters here")
    trigger = find_trigger(key)
    name = f"{MANUAL}{start_key or uuid4()}"
    known = Arrival.objects.filter(way=WAY, source=key, delivery_id=name).exists()
    if not known:
        _refuse_burst(key)
    with transaction.atomic(durable=True):
        arrived = keep_arrival(arriving(trigger, name))
        if arrived.is_new:
            record("cron.run_now", actor=actor, run_id=arrived.run_id, detail={"trigger": key})
    check_begun(begin_arrival(arrived.run_id))
    return arrived


def _refuse_burst(key: str) -> None:
    is_open = (ArrivalState.RECEIVED, ArrivalState.STARTED)
    found = Arrival.objects.filter(way=WAY, source=key, state__in=is_open, delivery_id__startswith=MANUAL)  # fmt: skip
    if found.order_by().values("run_id")[:MOST_OPEN].count() >= MOST_OPEN:
        raise Throttled(
            wait=AGAIN_SECONDS,
            detail=f"{MOST_OPEN} runs of this trigger that were asked for by hand go on; wait for one to end.",
        )
