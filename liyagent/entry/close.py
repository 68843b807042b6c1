"""Close a dead letter: a person says why it is not to be sent any more."""

from __future__ import annotations

from django.db import connection, transaction

from liyagent.core.errors import BadInput
from liyagent.core.plain import clean_text
from liyagent.entry.errors import DeliveryIsNot
from liyagent.entry.models import Delivery
from liyagent.entry.send_again import find_delivery, why_not
from liyagent.entry.told import record_delivery

LONGEST_REASON = 500
CLOSE = """
UPDATE entry_delivery SET state = 'closed', settled_at = liyagent_now(), closed_by = %s, closed_why = %s
    WHERE id = %s AND state IN ('dead', 'unconfirmed')
"""


def close_delivery(*, delivery_id: int, actor: str, reason: str) -> Delivery:
    """Close a dead or unconfirmed delivery for good, with the reason, which is kept a month and audited.

    Raises `DeliveryNotFound`, `DeliveryIsNot` for one in another state, `BadInput` without a usable reason.
    """
    why = " ".join(clean_text(reason).split())
    if not 1 <= len(why) <= LONGEST_REASON:
        raise BadInput(f"the reason has {len(why)} characters; it wants 1 to {LONGEST_REASON}")
    with transaction.atomic(durable=True):
        delivery = find_delivery(delivery_id)
        with connection.cursor() as cursor:
            cursor.execute(CLOSE, [actor[:150], why, delivery_id])
            if cursor.rowcount == 0:
                told = why_not(find_delivery(delivery_id)) or "somebody else was faster"
                raise DeliveryIsNot(f"delivery {delivery_id} cannot be closed: {told}")
        record_delivery("entry.delivery_closed", delivery, actor=actor, why=why, was=delivery.state)
    return find_delivery(delivery_id)
