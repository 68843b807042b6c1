"""A signed call becomes a row, and a run of it, before or after whoever received it dies (CR-05, ruling 29)."""

from __future__ import annotations

import hashlib
import io
import logging
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from django.db import DatabaseError, InterfaceError, connection, transaction
from rest_framework.exceptions import ParseError, Throttled

from liyagent.audit.record import record
from liyagent.core.bodies import StrictJSONParser
from liyagent.core.errors import LiyagentError
from liyagent.core.transactions import forbid_transaction
from liyagent.entry.arrive import Arriving, arrive
from liyagent.entry.begin import begin_arrival, check_begun
from liyagent.entry.models import Arrival, ArrivalState
from liyagent.entry.webhooks.errors import PayloadMisfit, TriggerDisabled
from liyagent.entry.webhooks.mapping import Fitting, delivery_id_of, is_wanted, words_of
from liyagent.entry.webhooks.models import Trigger
from liyagent.entry.webhooks.verify import SignedCall

logger = logging.getLogger(__name__)

NOT_WANTED = "the filter does not hold of it"
# The arrival before which a whole minute's worth came: how long until it is a minute old.
FULL_FOR = """
SELECT extract(epoch FROM received_at + interval '1 minute' - liyagent_now())::float FROM entry_arrival
    WHERE way = %s AND source = %s ORDER BY received_at DESC OFFSET %s LIMIT 1
"""
# A sender repeats what does not fit; the audit log is told once a minute.
MISFIT = """
UPDATE webhooks_trigger t SET misfits = t.misfits + 1, misfit_at = liyagent_now(), misfit_why = %s
    FROM (SELECT id, misfit_at FROM webhooks_trigger WHERE id = %s FOR UPDATE) before WHERE t.id = before.id
    RETURNING before.misfit_at IS NULL OR before.misfit_at < liyagent_now() - interval '1 minute'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What a call is: a run, or none where the filter did not want it."""

    run_id: UUID | None


def receive_call(call: SignedCall, *, request_id: str) -> Accepted:
    """Keep a call as an arrival and start its run; the same delivery again finds the first, whatever its body.

    Raises `TriggerDisabled`; `ArrivalRefused` where the agent may not start it, the same at each repeat. Nothing is kept where it raises
    `ParseError`, `PayloadMisfit` (told in the audit log) or `Throttled`.
    """
    forbid_transaction("receiving a webhook")
    trigger = call.trigger
    if not trigger.is_enabled:
        raise TriggerDisabled(f"trigger {trigger.key} is switched off")
    fitting = Fitting.of(vars(trigger))
    if not fitting.delivery_id:
        known = _find(trigger, call.webhook_id)
        if known is not None:
            return _answer(known)
    try:
        return _received(call, fitting, request_id)
    except PayloadMisfit as error:
        _tell_misfit(call, error, request_id)
        raise


def _received(call: SignedCall, fitting: Fitting, request_id: str) -> Accepted:
    trigger, payload = call.trigger, read_payload(call.body)
    delivery_id = delivery_id_of(fitting, payload) if fitting.delivery_id else call.webhook_id
    known = _find(trigger, delivery_id)
    if known is not None:
        return _answer(known)
    _refuse_burst(trigger)
    wanted = is_wanted(fitting, payload)
    task, mission = words_of(fitting, payload) if wanted else ("", "")
    arrived = arrive(
        Arriving(
            way=trigger.kind,
            source=trigger.key,
            delivery_id=delivery_id,
            body_digest=hashlib.sha256(call.body).hexdigest(),
            agent_key=trigger.agent_key,
            started_by=trigger.started_by,
            words={"task": task},
            mission=mission,
            request_id=request_id,
            skipped="" if wanted else NOT_WANTED,
        )
    )
    if arrived.is_new and wanted:
        return _begun(arrived.run_id)
    return _answer(Arrival.objects.get(run_id=arrived.run_id))


def read_payload(body: bytes) -> Any:
    """Return the payload, storable. Raises `ParseError` where it is no JSON object or list that can be used."""
    payload = StrictJSONParser().parse(io.BytesIO(body))
    if not isinstance(payload, dict | list):
        raise ParseError("the body wants an object or a list")
    return payload


def _begun(run_id: UUID) -> Accepted:
    """It is kept: whatever keeps it from being started now, the round of any process starts it."""
    try:
        arrival = begin_arrival(run_id)
    except (LiyagentError, DatabaseError, InterfaceError, psycopg.Error) as error:
        logger.warning("arrival %s is not started yet: %s", run_id, error)
        return Accepted(run_id=run_id)
    return _answer(arrival)


def _answer(arrival: Arrival) -> Accepted:
    check_begun(arrival)
    is_skipped = arrival.state == ArrivalState.SKIPPED
    return Accepted(run_id=None if is_skipped else arrival.run_id)


def _find(trigger: Trigger, delivery_id: str) -> Arrival | None:
    known = Arrival.objects.filter(way=trigger.kind, source=trigger.key, delivery_id=delivery_id)
    return known.defer("sealed").first()


def _refuse_burst(trigger: Trigger) -> None:
    with connection.cursor() as cursor:
        cursor.execute(FULL_FOR, [trigger.kind, trigger.key, trigger.most_a_minute - 1])
        row = cursor.fetchone()
    if row is not None and row[0] > 0:
        raise Throttled(
            wait=row[0],
            detail=f"{trigger.most_a_minute} calls of this trigger a minute are taken on.",
        )


def _tell_misfit(call: SignedCall, error: PayloadMisfit, request_id: str) -> None:
    trigger = call.trigger
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute(MISFIT, [str(error)[:500], trigger.pk])
            row = cursor.fetchone()
        if row is not None and row[0]:
            record(
                "webhooks.misfit",
                actor=trigger.started_by,
                request_id=request_id,
                detail={"trigger": trigger.key, "why": str(error)[:500]},
            )
