"""Where sagas stand, for lists and pages: a status in words, and how many undos came to what."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db import connection
from django.utils.safestring import SafeString

from liyagent.core.pills import QUIET, pill
from sagas.models import Saga
from sagas.wording import STATUSES

# Of a saga so many undos are counted, the newest; a run has fewer, unless its caps were lifted.
MOST_COUNTED = 2_000
COUNTS = """
SELECT s.id, u.fate, count(*)::int FROM unnest(%s::uuid[]) AS s(id), LATERAL (
    SELECT o.fate FROM sagas_undo o WHERE o.saga_id = s.id ORDER BY o."order" DESC LIMIT %s) AS u
GROUP BY s.id, u.fate
"""


def counts_of(ids: Iterable[UUID]) -> dict[UUID, dict[str, int]]:
    """Return of each saga how many of its newest 2,000 undos came to what: one statement."""
    found: dict[UUID, dict[str, int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(COUNTS, [list(ids), MOST_COUNTED])
        for saga, fate, number in cursor.fetchall():
            found.setdefault(saga, {})[fate] = number
    return found


def state_of(saga: Saga) -> SafeString:
    """Return a saga's status in words."""
    return pill(*STATUSES.get(saga.status, (saga.status, QUIET)))
