"""Write one audit row."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import orjson
from django.db import connection

from missions.context import current_stamp

# What a process does for no request, run or job is one piece of work: a command at the shell, or its own rounds (MI-02).
OWN_WORK = str(uuid4())


def record(
    action: str,
    *,
    actor: str,
    detail: dict[str, Any] | None = None,
    mission: str = "",
    correlation_id: UUID | None = None,
    run_id: UUID | None = None,
    request_id: str = "",
    agent: str = "",
) -> None:
    """Add a row in the transaction of the caller. `detail` is plain data; the stamps are the work's own (MI-07).

    `mission` and `agent` are those of the run that it is done to; where none is given, of what the code works for.
    Request id and address are those of the request that does it, if there is one; else `request_id`. Keys of `detail`
    that bear the name of a stamp (actor, mission, request_id, address) are dropped. Where a concern is open about the
    actor or the mission, or was as the run was started, the row bears neither mission nor request id nor address (MI-03).
    """
    stamp = current_stamp()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT liyagent_audit(%s, %s, %s, %s, %s, %s, %s::jsonb, %s, %s)",
            [
                action,
                actor,
                mission or stamp.mission_of_work or str(correlation_id or "") or OWN_WORK,
                correlation_id,
                run_id,
                stamp.request_id or request_id,
                orjson.dumps(detail or {}).decode(),
                agent or stamp.agent,
                stamp.address,
            ],
        )
