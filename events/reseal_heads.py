"""Seal heads anew with the newest key, so that an older one may go (ruling 16)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db import connection

from events.checking import FIRST
from events.head_seals import check_seal, head_seal, newest_key_id
from events.models import EventHead, RunEvent

BATCH = 200
BY_KEY = "SELECT seal_key, count(*) FROM events_eventhead WHERE sealed_count > 0 GROUP BY seal_key"


@dataclass(slots=True)
class HeadsResealed:
    """What came of them. `left`: sealed meanwhile by a round; `broken`: the seal does not hold, or its key is not here."""

    done: int = 0
    left: int = 0
    broken: int = 0


def reseal_heads(*, on_progress: Callable[[], None]) -> HeadsResealed:
    """Seal every head that an older key sealed with the newest, each in a commit of its own. What a root closed over stays."""
    told, last = HeadsResealed(), FIRST
    older = EventHead.objects.filter(sealed_count__gt=0).exclude(seal_key=newest_key_id())
    while rows := list(older.filter(correlation_id__gt=last).order_by("correlation_id")[:BATCH]):
        for head in rows:
            _reseal(head, told)
        last = rows[-1].correlation_id
        on_progress()
    return told


def heads_by_key() -> dict[str, int]:
    """Return how many heads each key seals. Reads all of them once."""
    with connection.cursor() as cursor:
        cursor.execute(BY_KEY)
        return dict(cursor.fetchall())


def _reseal(head: EventHead, told: HeadsResealed) -> None:
    chain, key_id = head.correlation_id, newest_key_id()
    event = RunEvent.objects.filter(correlation_id=chain, number=head.sealed_count)
    digest = event.values_list("hash", flat=True).first()
    if digest is None or check_seal(head, chain, bytes(digest)) is not None:
        told.broken += 1
        return
    seal = head_seal(
        key_id=key_id,
        correlation_id=chain,
        count=head.sealed_count,
        digest=bytes(digest),
        number=head.sealed_in or 0,
    )
    same = EventHead.objects.filter(correlation_id=chain, seal=head.seal)
    is_done = same.update(seal=seal, seal_key=key_id)
    told.done += is_done
    told.left += not is_done
