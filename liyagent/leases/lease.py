"""Named leases: the leader's, a saga's, a job's."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection

TAKE = """
INSERT INTO leases_lease AS mine (name, holder, epoch, until)
    VALUES (%(name)s, %(holder)s, 1, liyagent_now() + make_interval(secs => %(seconds)s))
ON CONFLICT (name) DO UPDATE SET holder = EXCLUDED.holder, until = EXCLUDED.until,
    epoch = mine.epoch + (mine.holder <> EXCLUDED.holder)::int
    WHERE mine.holder = EXCLUDED.holder OR mine.until < liyagent_now()
        OR mine.until > liyagent_now() + make_interval(secs => %(longest)s)
RETURNING epoch
"""


def take_lease(
    name: str, *, holder: UUID, seconds: float, longest: float | None = None
) -> int | None:
    """Take or renew a lease in one statement; its epoch where it is ours, None where it is another's.

    One that is to last more than `longest` seconds is of before the database's clock was put back, and is nobody's. For
    what two may do at once.
    """
    told: dict[str, Any] = {"name": name, "holder": holder, "seconds": seconds, "longest": longest}
    with connection.cursor() as cursor:
        cursor.execute(TAKE, told)
        row = cursor.fetchone()
    return int(row[0]) if row else None
