"""Hand on what is owed: claimed, marked, sent, settled like a write (CR-08); by any process, whatever became of the first."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from typing import Any

import psycopg
from django.db import DatabaseError, InterfaceError, connection, transaction

from liyagent.core.errors import LiyagentError
from liyagent.core.metrics import DELIVERIES
from liyagent.core.outbox import Outbox
from liyagent.core.transactions import forbid_transaction
from liyagent.entry.delivery_spans import delivery_span, tell_sent
from liyagent.entry.models import Delivery
from liyagent.entry.stamp import stamp_of_what_came
from liyagent.entry.told import record_delivery
from liyagent.entry.ways import SENDERS, Sent
from liyagent.leases.own import CLAIMER_IS_GONE, OWN
from missions.context import stamped

logger = logging.getLogger(__name__)

MOST_A_LOOK = 100
ACTOR = "deliveries"
OUTBOX = Outbox(
    table="entry_delivery",
    of="run_id",
    # An address that is dead holds back no other: the cards and the answer of a conversation have no config.
    to=" AND e.way = d.way AND e.address -> 'config' IS NOT DISTINCT FROM d.address -> 'config'",
    claims=", claimed_by = %s",
    which=" AND d.way = %s",
    # Besides what a dead one claimed: what this process claimed, and lost sight of as its connection was cut.
    also_free=f"{CLAIMER_IS_GONE} OR (d.claimed_by = %s AND d.id <> ALL(%s))",
)
_claiming = Lock()
_in_hand: set[int] = set()

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


def deliver_due(give_up: Callable[[], bool], *, way: str, limit: int = MOST_A_LOOK) -> int:
    """Send what is due by a way, at most `limit`, and return how many were tried. Raises the database's errors.

    An other end that is down is left alone until the next look, its deliveries being spaced out.
    """
    forbid_transaction("handing on answers")
    tried = 0
    while tried < limit and not give_up():
        found = _claim(way)
        if found is None:
            break
        tried += 1
        try:
            delivery = Delivery.objects.get(id=found)
            with stamped(stamp_of_what_came(delivery.run_id)):
                sent = _send(delivery)
        finally:
            _in_hand.discard(found)
        if sent is not None and sent.is_down:
            break
    return tried


def values_of_due(way: str) -> list[Any]:
    """Return what `OUTBOX.due_statement` asks for: what this process may claim of a way."""
    return [way, OWN.holder, list(_in_hand)]


def _claim(way: str) -> int | None:
    with _claiming:
        found = OUTBOX.claim(OWN.holder, *values_of_due(way))
        if found is not None:
            _in_hand.add(found)
    return found


def _send(delivery: Delivery) -> Sent | None:
    """Send a claimed delivery and keep what became of it; None where another has it by now."""
    with delivery_span(delivery) as told:
        sent = _sent(delivery)
        tell_sent(told, sent)
        return sent


def _sent(delivery: Delivery) -> Sent | None:
    try:
        sent = SENDERS[delivery.way](
            delivery, delivery.marked_at is not None, lambda: _mark(delivery)
        )
    except LostDelivery:
        return None
    except LiyagentError as error:
        sent = Sent(error=str(error))
    except (DatabaseError, InterfaceError, psycopg.Error):
        raise
    except Exception as error:
        # An odd row or an odd answer: it becomes a dead letter in time, and holds up no other.
        logger.exception("%s cannot be sent", delivery)
        sent = Sent(error=f"{type(error).__name__}: {error}", may_have_arrived=True)
    _settle(delivery, sent)
    return sent


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
    state = _give_up_or_again(delivery, sent)
    DELIVERIES.of(delivery.way, state or "failed").inc()
    logger.warning("%s: %s%s", delivery, sent.error, f"; it is {state}" if state else "")


def _give_up_or_again(delivery: Delivery, sent: Sent) -> str:
    """Keep a failure; return as what the delivery ends by it, with its audit row, else empty: it is sent again."""
    with transaction.atomic(durable=True):
        state = "unconfirmed" if sent.is_unconfirmed else "dead" if sent.is_final else ""
        if state:
            is_over = OUTBOX.settle(
                delivery.id, attempts=delivery.attempts, state=state, why=sent.error
            )
        else:
            state = "dead"
            is_over = OUTBOX.fail(
                delivery.id,
                attempts=delivery.attempts,
                failures=delivery.failures,
                why=sent.error,
                pause=sent.wanted_pause,
            )
        if is_over:
            record_delivery(f"entry.delivery_{state}", delivery, actor=ACTOR, why=sent.error)
    return state if is_over else ""


def _execute(statement: str, values: list[Any]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return bool(cursor.rowcount)
