"""How many events of a chain need no tag: those of before there were tags, which the first roots of this database closed over.

A head says so itself (`untagged`), and whoever can put in a head can say it of any chain. What a release without tags had
written was sealed as it was when the first roots were made; what came after that hour is in none of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import connection

from events.models import Root
from events.root_log import Held, unpacked_heads
from events.root_trust import wrong_leaves

# Sealing all that was there takes less than an hour. Chains are verified in the order in which they were sealed then.
ROOTS_KEPT = 4
# The last of them, 0 for none, and whether that hour is over.
LAST = """
SELECT coalesce(later.number - 1, newest.number, 0),
        newest.number IS NOT NULL AND (later.number IS NOT NULL OR liyagent_now() > first.at + interval '1 hour')
    FROM (SELECT 1) one
    LEFT JOIN events_root first ON first.number = 1
    LEFT JOIN LATERAL (SELECT r.number FROM events_root r ORDER BY r.number DESC LIMIT 1) newest ON true
    LEFT JOIN LATERAL (SELECT r.number FROM events_root r WHERE r.number > 1 AND r.at > first.at + interval '1 hour'
        ORDER BY r.number LIMIT 1) later ON true
"""
CONTAINING = """
SELECT number FROM events_root WHERE number BETWEEN 1 AND %s AND position(%s IN heads) > 0 ORDER BY number LIMIT 1
"""


@dataclass(slots=True)
class FirstRoots:
    """Asks for the last of them once."""

    _last: list[int] = field(default_factory=list)

    def untagged(self, chain: UUID, *, told: int, sealed_in: int | None) -> int:
        """Return how many of the `told` first events may stand without a tag.

        As long as that hour is not over, a chain that is in no root yet is believed.
        """
        if told <= 0:
            return 0
        if not self._last:
            self._last = [*_row(LAST)]
        last, is_over = self._last
        number = sealed_in or 0
        if not 1 <= number <= last or chain not in _closed_over(number):
            number = next(iter(_row(CONTAINING, last, chain.bytes)), 0)
        if not number and not is_over:
            return told
        return min(told, _closed_over(number).get(chain, 0))


def _row(statement: str, *values: Any) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchone() or ())


def _closed_over(number: int) -> Held:
    statement = Root.objects.filter(number=number).values_list("statement", flat=True).first()
    return _heads(number, statement) if statement is not None else {}


@lru_cache(maxsize=ROOTS_KEPT)
def _heads(number: int, _statement: str) -> Held:
    """The chains of that root, with how many events each had; none where it is none of ours."""
    heads = Root.objects.filter(number=number).values_list("heads", flat=True).get()
    if wrong_leaves(number) is not None:
        return {}
    return {chain: count for chain, count, _ in unpacked_heads(heads)}
