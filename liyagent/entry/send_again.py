"""Send again what was given up: a person says so, it is due at once, and a day is left to hand it on."""

from __future__ import annotations

from django.db import connection, transaction

from liyagent.entry.errors import DeliveryIsNot, DeliveryNotFound, MayAppearTwice
from liyagent.entry.models import Delivery, DeliveryState
from liyagent.entry.told import record_delivery

# One that is unconfirmed goes as if it had not been sent: a person took on that it may appear twice. One that is dead
# keeps what is in doubt of it: its sender decides, as at any other time.
AGAIN = """
UPDATE entry_delivery SET state = 'pending', next_at = it.now, give_up_at = it.now + interval '1 day', failures = 0,
        claimed_until = NULL, claimed_by = NULL, settled_at = NULL,
        marked_at = CASE WHEN state = 'unconfirmed' THEN NULL ELSE marked_at END
    FROM (SELECT liyagent_now() AS now OFFSET 0) AS it
    WHERE id = %s AND state = %s
"""
# What is said of one that cannot be sent again, by its state.
WHY_NOT = {
    DeliveryState.WAITING: "it waits for the end of its run, and is sent then",
    DeliveryState.PENDING: "it is due already, and is being sent; somebody may have sent it again just now",
    DeliveryState.DELIVERED: "it was handed on already",
    DeliveryState.CLOSED: "it was closed by {by}: {why}",
}


def find_delivery(delivery_id: int) -> Delivery:
    """Return a delivery by its number. Raises `DeliveryNotFound`."""
    found = Delivery.objects.filter(id=delivery_id).first()
    if found is None:
        raise DeliveryNotFound(
            f"there is no delivery {delivery_id}; what was handed on is forgotten after some days, "
            "what was given up after a month"
        )
    return found


def why_not(delivery: Delivery) -> str:
    """Return why nothing can be done by hand with a delivery; empty for one that is dead or unconfirmed."""
    told = WHY_NOT.get(DeliveryState(delivery.state), "")
    return told.format(by=delivery.closed_by, why=delivery.closed_why) if told else ""


def send_again(*, delivery_id: int, actor: str, may_appear_twice: bool = False) -> Delivery:
    """Have a dead or unconfirmed delivery sent again: it is due now, for a day; any process sends it.

    Of two who ask at once, one does it. Raises `DeliveryNotFound`, `DeliveryIsNot` for one in another state, and
    `MayAppearTwice` for an unconfirmed one unless `may_appear_twice` says that this is taken on (ruling 30).
    """
    with transaction.atomic(durable=True):
        delivery = find_delivery(delivery_id)
        refusal = why_not(delivery)
        if refusal:
            raise DeliveryIsNot(f"delivery {delivery_id} cannot be sent again: {refusal}")
        if delivery.state == DeliveryState.UNCONFIRMED and not may_appear_twice:
            raise MayAppearTwice(
                f"delivery {delivery_id} was sent, and nobody can tell whether it arrived "
                f"({delivery.last_error or 'no reason is kept'}); look there first, and confirm that it may appear twice"
            )
        with connection.cursor() as cursor:
            cursor.execute(AGAIN, [delivery_id, delivery.state])
            if cursor.rowcount == 0:
                raise DeliveryIsNot(
                    f"delivery {delivery_id} cannot be sent again: somebody else was faster; look at it anew"
                )
        record_delivery(
            "entry.delivery_sent_again",
            delivery,
            actor=actor,
            why=delivery.last_error,
            was=delivery.state,
            may_appear_twice=may_appear_twice,
        )
    return find_delivery(delivery_id)
