"""Write one audit row."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson
from django.db import connection


def record(
    action: str,
    *,
    actor: str,
    detail: dict[str, Any] | None = None,
    mission: str = "",
    correlation_id: UUID | None = None,
    run_id: UUID | None = None,
    request_id: str = "",
) -> None:
    """Add a row in the transaction of the caller. `detail` is plain data; the mission is the work's own (MI-07)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT liyagent_audit(%s, %s, %s, %s, %s, %s, %s::jsonb)",
            [
                action,
                actor,
                mission,
                correlation_id,
                run_id,
                request_id,
                orjson.dumps(detail or {}).decode(),
            ],
        )
