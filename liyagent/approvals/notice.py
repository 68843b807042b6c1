"""What is told of a request: facts, in the same words each time; never what it asks for, nor anybody's reasons."""

from __future__ import annotations

from datetime import datetime

import orjson
from django.conf import settings
from django.db import connection
from django.urls import reverse

from liyagent.approvals.models import Notice

PAGE = "admin:approvals_approval_change"
# Of requests that wait, each is told of once more, in the commit that says so.
REMIND = """
WITH reminded AS (
    UPDATE approvals_approval a SET remind_at = NULL
        WHERE a.id IN (SELECT d.id FROM approvals_approval d
            WHERE d.status = 'pending' AND d.remind_at IS NOT NULL AND d.remind_at <= (SELECT liyagent_now())
            ORDER BY d.remind_at LIMIT %s FOR UPDATE SKIP LOCKED)
        RETURNING a AS request, a.expires_at
)
SELECT liyagent_tell_of(request, 'reminder') FROM reminded WHERE expires_at > liyagent_now()
"""


def remind_due(*, limit: int = 200) -> int:
    """File the one reminder of each request whose time for it has come, and return of how many."""
    with connection.cursor() as cursor:
        cursor.execute(REMIND, [limit])
        return int(cursor.rowcount)


def body_of(notice: Notice) -> bytes:
    """Return the JSON that is sent: `type`, `timestamp` (of what it tells) and `data`."""
    approval = notice.approval
    data = {
        "approval_id": str(approval.id),
        "kind": approval.kind,
        "status": notice.status,
        "decided_by": notice.decided_by or None,
        "agent": approval.agent_key,
        "server": approval.server,
        "tool": approval.tool,
        "gate": approval.gate,
        "mission": approval.mission,
        "run_id": str(approval.run_id),
        "replaces": str(approval.replaces) if approval.replaces else None,
        "created_at": _told(approval.created_at),
        "expires_at": _told(approval.expires_at),
        "url": _page_of(notice),
    }
    told = {
        "type": f"approval.{notice.kind}",
        "timestamp": _told(notice.created_at),
        "data": data,
    }
    return orjson.dumps(told)


def _page_of(notice: Notice) -> str | None:
    """The request's page in the console, where it is said how people reach that."""
    origin = settings.LIYAGENT.public_url
    return f"{origin}{reverse(PAGE, args=[notice.approval_id])}" if origin else None


def _told(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S.%f}Z"
