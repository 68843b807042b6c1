"""Put a version down, in the transaction of a verb: the constraint of the table says which of two is first (HO-02)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson
from django.db import connection

from handoffs.content import Content
from handoffs.ride import ride_with
from liyagent.core.transactions import require_transaction
from missions.context import current_stamp


def write_version(
    *, thread: UUID, number: int, parent: str, content: Content, author: str, mission: str
) -> bool:
    """Write version `number` of a thread, audited as `agent.handoff`; False where there is one of that number already.

    Of two that write one number at once the second waits here for the commit of the first.
    """
    require_transaction("writing a version of a hand-off")
    stamp = current_stamp()
    ride = ride_with(
        content,
        thread=thread,
        number=number,
        author=author,
        mission=mission,
        request_id=stamp.request_id,
    )
    values: list[Any] = [
        orjson.dumps({**ride, "address": stamp.address}).decode(),
        thread,
        number,
        parent,
    ]
    with connection.cursor() as cursor:
        cursor.execute("SELECT liyagent_hand_version(%s::jsonb, %s, %s, %s)", values)
        (is_new,) = cursor.fetchone()
    return bool(is_new)
