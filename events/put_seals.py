"""Put the seals of a root on its heads: a few at a time, waiting for nobody. A head that somebody holds is left for later.

What a root closed over is sealed even where its maker died before. A root names the heads that still wait for the seal of an
older one, so that none is forgotten, and no total counts one twice.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from events.head_seals import head_seal, newest_key_id
from events.models import Root
from events.root_log import HeadLeaf, Held, unpacked_heads
from events.root_trust import wrong_leaves
from events.roots import Newest, NotOurRoot

logger = logging.getLogger(__name__)

# So few are locked by one statement that a flush waits for milliseconds.
HEADS_AT_ONCE = 200
# A flush holds a head for less.
TRIES, PAUSE_SECONDS = 20, 0.025
OWED = """
SELECT v.chain FROM unnest(%s::uuid[], %s::bigint[]) AS v(chain, count)
    JOIN events_eventhead h ON h.correlation_id = v.chain
    WHERE coalesce(h.sealed_in, 0) < %s AND h.count >= v.count
"""
# One that a flush holds just now is left for the next try. Heads are locked until this is committed, and a flush waits for
# one no longer than 100 ms: so no disk and no standby is waited for. What a crash forgets of it is put again, as the newest
# root's seals always are; the root itself is committed as all else, and with it the seals of those before.
SEAL = """
WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
UPDATE events_eventhead h
    SET sealed_count = v.count, sealed_in = %(number)s, seal = v.seal, seal_key = %(key)s, is_unsealed = h.count > v.count
    FROM quick, unnest(%(chains)s::uuid[], %(counts)s::bigint[], %(seals)s::bytea[]) AS v(chain, count, seal)
    JOIN (SELECT l.correlation_id FROM events_eventhead l
        WHERE l.correlation_id = ANY(%(chains)s::uuid[]) FOR UPDATE SKIP LOCKED) free ON free.correlation_id = v.chain
    WHERE h.correlation_id = v.chain AND h.count >= v.count AND coalesce(h.sealed_in, 0) < %(number)s
"""


def finish(newest: Newest) -> Held:
    """Put the seals that the newest root, and those that it names, still owe; return the heads that somebody holds.

    Raises `NotOurRoot` where its row is not what it closed over.
    """
    if not newest.number:
        return {}
    held: Held = {}
    for number in sorted({newest.number, *newest.owed.values()}):
        chains = (
            None if number == newest.number else {c for c, n in newest.owed.items() if n == number}
        )
        owed = _owed(_stored_heads(number, among=chains), number)
        if not owed:
            continue
        wrong = wrong_leaves(number)
        if wrong is None:
            held |= put_seals(owed, number, tries=1)
        elif number == newest.number:
            raise NotOurRoot(number, wrong)
        else:
            logger.error("root %d was changed (%s): no head is sealed by it", number, wrong)
    return held


def put_seals(heads: Sequence[HeadLeaf], number: int, *, tries: int = TRIES) -> Held:
    """Seal these heads as of that root; return those that stay locked. One that was purged, or put back, is not waited for."""
    left = list(heads)
    for attempt in range(tries):
        if attempt:
            time.sleep(PAUSE_SECONDS)
        for at in range(0, len(left), HEADS_AT_ONCE):
            _seal(left[at : at + HEADS_AT_ONCE], number)
        left = _owed(left, number)
        if not left:
            break
    return {chain: number for chain, *_ in left}


def _stored_heads(number: int, *, among: set[UUID] | None) -> list[HeadLeaf]:
    row = Root.objects.filter(number=number).values_list("heads", flat=True).first()
    heads = unpacked_heads(row or b"")
    return [it for it in heads if among is None or it[0] in among]


def _owed(heads: Sequence[HeadLeaf], number: int) -> list[HeadLeaf]:
    found: set[UUID] = set()
    for at in range(0, len(heads), HEADS_AT_ONCE):
        some = heads[at : at + HEADS_AT_ONCE]
        with connection.cursor() as cursor:
            cursor.execute(OWED, [[it[0] for it in some], [it[1] for it in some], number])
            found.update(chain for (chain,) in cursor.fetchall())
    return [it for it in heads if it[0] in found]


def _seal(heads: Sequence[HeadLeaf], number: int) -> None:
    key_id = newest_key_id()
    seals = [
        head_seal(key_id=key_id, correlation_id=chain, count=count, digest=digest, number=number)
        for chain, count, digest in heads
    ]
    told: dict[str, Any] = {
        "number": number,
        "key": key_id,
        "chains": [it[0] for it in heads],
        "counts": [it[1] for it in heads],
        "seals": seals,
    }
    with connection.cursor() as cursor:
        cursor.execute(SEAL, told)
