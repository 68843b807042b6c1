"""Hand on what is owed: claimed, marked, sent, settled like a write (CR-08); by any process, whatever became of the first."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.db import connection

from liyagent.core.errors import LiyagentError
from liyagent.core.metrics import DELIVERIES
from liyagent.core.outbox import Outbox
from liyagent.core.transactions import forbid_transaction
from liyagent.entry.models import Delivery
from liyagent.entry.ways import SENDERS, Sent

logger = logging.getLogger(__name__)

MOST_A_LOOK = 100
OUTBOX = Outbox(table="entry_delivery", of="run_id")

MARK = """
UPDATE entry_delivery SET marked_at = liyagent_now()
    WHERE id = %s AND attempts = %s AND state = 'pending' AND claimed_until > liyagent_now()
"""
KNOWN = """
UPDATE entry_delivery SET vendor_id = COALESCE(NULLIF(%s, ''), vendor_id),
        marked_at = CASE WHEN %s THEN NULL ELSE marked_at END
    WHERE id = %s AND attempts = %s
"""


class LostDelivery(LiyagentError):
    """Another process has this delivery by now; nothing of it leaves here."""

    code = "delivery.lost"


def deliver_due(give_up: Callable[[], bool], *, limit: int = MOST_A_LOOK) -> int:
    """Send what is due, at most `limit`, and return how many were tried. Raises the database's errors.

    A way whose other end is down is left alone for the rest of this look, its deliveries being spaced out.
    """
    forbid_transaction("handing on answers")
    tried = 0
    while tried < limit and not give_up():
        found = OUTBOX.claim()
        if found is None:
            break
        tried += 1
        deliver_one(Delivery.objects.get(id=found))
    return tried


def deliver_one(delivery: Delivery) -> None:
    """Send a claimed delivery by its way, and keep what became of it."""
    sender = SENDERS.get(delivery.way)
    if sender is None:
        sent = Sent(error=f"nobody here hands on by {delivery.way}")
    else:
        try:
            sent = sender(delivery, delivery.marked_at is not None, lambda: _mark(delivery))
        except LostDelivery:
            return
        except LiyagentError as error:
            sent = Sent(error=str(error))
    _settle(delivery, sent)


def _mark(delivery: Delivery) -> None:
    if not _execute(MARK, [delivery.id, delivery.attempts]):
        raise LostDelivery(delivery=delivery.id)


def _settle(delivery: Delivery, sent: Sent) -> None:
    # An earlier sending in doubt stays so, whatever became of this one, until one is told to have arrived.
    is_known = not sent.error or not (sent.may_have_arrived or delivery.marked_at is not None)
    if sent.vendor_id or is_known:
        _execute(KNOWN, [sent.vendor_id[:300], is_known, delivery.id, delivery.attempts])
    if not sent.error:
        OUTBOX.settle(delivery.id, attempts=delivery.attempts)
        DELIVERIES.of(delivery.way, "delivered").inc()
        return
    state = "unconfirmed" if sent.is_unconfirmed else "dead" if sent.is_final else ""
    if state:
        OUTBOX.settle(delivery.id, attempts=delivery.attempts, state=state, why=sent.error)
    elif OUTBOX.fail(
        delivery.id,
        attempts=delivery.attempts,
        failures=delivery.failures,
        why=sent.error,
        pause=sent.wanted_pause,
    ):
        state = "dead"
    DELIVERIES.of(delivery.way, state or "failed").inc()
    logger.warning("%s: %s%s", delivery, sent.error, f"; it is {state}" if state else "")


def _execute(statement: str, values: list[object]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return bool(cursor.rowcount)
