"""Start what has arrived: at once by whoever received it, else by whichever process finds it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from liyagent.audit.record import record
from liyagent.core.errors import LiyagentError
from liyagent.core.seal import KeyMissing
from liyagent.core.traceparent import TRACEPARENT
from liyagent.core.transactions import forbid_transaction
from liyagent.entry.arrive import ARRIVAL, IN_HAND_SECONDS
from liyagent.entry.errors import ArrivalRefused
from liyagent.entry.models import Arrival, ArrivalState
from liyagent.entry.stamp import stamp_of
from liyagent.leases.own import OWN
from missions.context import current_stamp, stamped
from runs.checkpoint import keyring
from runs.errors import NotStarted
from runs.models import CHECKPOINT_FORMAT, Run
from runs.start import start_run

logger = logging.getLogger(__name__)

MOST_A_LOOK = 100
AGAIN_SECONDS = 2.0

TO_BEGIN = """
SELECT d.run_id FROM entry_arrival d WHERE d.state = 'received' AND d.next_at <= (SELECT liyagent_now())
    AND (d.claimed_until IS NULL OR d.claimed_until <= liyagent_now()
        OR (d.claimed_by IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM leases_holder h WHERE h.id = d.claimed_by AND h.renew_by > liyagent_now())))
    ORDER BY d.next_at LIMIT 1
"""
CLAIM = f"""
UPDATE entry_arrival n SET attempts = n.attempts + 1, claimed_until = liyagent_now() + make_interval(secs => %s),
        claimed_by = %s
    WHERE n.run_id = ({TO_BEGIN} FOR UPDATE SKIP LOCKED)
    RETURNING n.run_id
"""  # noqa: S608 - of constants alone
# Where the run ended before this is written, the trigger has written more than this would.
STARTED = """
UPDATE entry_arrival SET state = 'started', started_at = liyagent_now(), sealed = NULL, claimed_until = NULL
    WHERE run_id = %s AND state = 'received'
"""
# Not started now, and tried again; given up where the patience is over.
AGAIN = """
UPDATE entry_arrival SET claimed_until = NULL, next_at = liyagent_now() + make_interval(secs => %s), reason = %s
    WHERE run_id = %s AND state = 'received' AND liyagent_now() < give_up_at
"""
REFUSED = """
UPDATE entry_arrival SET state = 'refused', reason = %s, ended_at = liyagent_now(), claimed_until = NULL
    WHERE run_id = %s AND state = 'received'
"""
# What waits for the end of a run that never was is owed now: it tells the refusal.
OWED_NOW = """
UPDATE entry_delivery SET state = 'pending', next_at = liyagent_now() WHERE run_id = %s AND state = 'waiting'
"""


def begin_arrival(run_id: UUID) -> Arrival:
    """Start the run of an arrival, once however often this is asked, and return the arrival as it stands then.

    One whose agent may not start it (unknown, contained, its channel closed) is refused for good, with an audit row. While
    the database or a sealing key is away it stays received, and is tried again by any process for a day.
    """
    forbid_transaction("starting what has arrived")
    arrival = Arrival.objects.get(run_id=run_id)
    if arrival.state != ArrivalState.RECEIVED:
        return arrival
    with stamped(stamp_of(arrival)):
        try:
            words = _words(arrival)
            with stamped(replace(current_stamp(), traceparent=words.get(TRACEPARENT, ""))):
                _start(arrival, words)
        except (NotStarted, KeyMissing) as error:
            _later(arrival, error)
        except LiyagentError as error:
            _refuse(arrival, str(error))
        else:
            _execute(STARTED, [run_id])
    return Arrival.objects.get(run_id=run_id)


def check_begun(arrival: Arrival) -> None:
    """Raise `ArrivalRefused` with the reason where nothing was started of it."""
    if arrival.state == ArrivalState.REFUSED:
        raise ArrivalRefused(arrival.reason)


def begin_due(give_up: Callable[[], bool], *, limit: int = MOST_A_LOOK) -> int:
    """Start what was received and left: its process died before it did; return how many were tried."""
    tried = 0
    while tried < limit and not give_up():
        with connection.cursor() as cursor:
            cursor.execute(CLAIM, [IN_HAND_SECONDS, OWN.holder])
            row = cursor.fetchone()
        if row is None:
            break
        begin_arrival(row[0])
        tried += 1
    return tried


def _words(arrival: Arrival) -> dict[str, Any]:
    sealer = keyring().sealer(
        key_id=arrival.key_id, run_id=arrival.run_id, format_number=CHECKPOINT_FORMAT
    )
    words: dict[str, Any] = sealer.open(bytes(arrival.sealed or b""), kind=ARRIVAL, number=0)
    return words


def _start(arrival: Arrival, words: dict[str, Any]) -> None:
    start_run(
        run_id=arrival.run_id,
        agent_key=arrival.agent_key,
        task=words["task"],
        history=words.get("history"),
        entry=arrival.way,
        started_by=arrival.started_by,
        mission=arrival.mission,
        request_id=arrival.request_id,
    )


def _later(arrival: Arrival, error: LiyagentError) -> None:
    logger.warning("%s is not started yet: %s", arrival, error)
    if not _execute(AGAIN, [AGAIN_SECONDS, str(error)[:500], arrival.run_id]):
        _refuse(arrival, f"not started for a day: {error}")


def _refuse(arrival: Arrival, reason: str) -> None:
    if Run.objects.filter(id=arrival.run_id).exists():
        # An earlier try started it, and died or was cut off before it could say so.
        _execute(STARTED, [arrival.run_id])
        return
    with transaction.atomic(durable=True):
        if not _execute(REFUSED, [reason[:500], arrival.run_id]):
            return
        _execute(OWED_NOW, [arrival.run_id])
        record(
            "entry.refused",
            actor=arrival.started_by,
            mission=arrival.mission,
            request_id=arrival.request_id,
            detail={
                "way": arrival.way,
                "source": arrival.source,
                "delivery": arrival.delivery_id,
                "agent": arrival.agent_key,
                "reason": reason[:500],
            },
        )


def _execute(statement: str, values: list[Any]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return bool(cursor.rowcount)
