"""Seal what was appended: a root over the heads that changed, then a seal on each of them.

A round of one process, never part of the hot path. The root stands before the seals that name it; what a death leaves
between the two is done first by whoever comes next. Heads are locked for milliseconds, and never waited for.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection

from events.certificates import certificates_after, last_certificate
from events.chain import BreakReason
from events.checking import FIRST as FIRST_CHAIN
from events.head_seals import UNKNOWN_KEY, check_seal, head_seal, newest_key_id
from events.models import Root
from events.root_log import HASH_BYTES, HeadLeaf, unpacked_heads
from events.roots import Batch, Newest, make_root, newest_root
from events.signing import signing_key
from events.verdict import SENTENCES, Found
from liyagent.core.errors import Conflict
from liyagent.core.metrics import ROOTS_MADE, SEALS_REFUSED
from liyagent.leases.lease import take_lease
from liyagent.leases.own import OWN

logger = logging.getLogger(__name__)

LEASE, LEASE_SECONDS = "seals", 20.0
# A root keeps 56 bytes for each of these.
HEADS_A_ROOT = 10_000
CERTIFICATES_A_ROOT = 1_000
# So few are locked by one statement that a flush waits for milliseconds.
HEADS_AT_ONCE = 200
TRIES, PAUSE_SECONDS = 40, 0.025
EXPORT_TRIES = 20
CHANGED = """
SELECT h.correlation_id, h.count, h.hash, h.sealed_count, h.sealed_in, h.seal, h.seal_key, e.hash, t.hash
    FROM events_eventhead h
    LEFT JOIN events_runevent e ON e.correlation_id = h.correlation_id AND e.number = h.sealed_count
    LEFT JOIN events_runevent t ON t.correlation_id = h.correlation_id AND t.number = h.count
    WHERE h.is_unsealed AND h.count > 0 AND h.correlation_id > %s ORDER BY h.correlation_id LIMIT %s
"""
OWED = """
SELECT v.chain FROM unnest(%s::uuid[], %s::bigint[]) AS v(chain, count)
    JOIN events_eventhead h ON h.correlation_id = v.chain
    WHERE coalesce(h.sealed_in, 0) < %s AND h.count >= v.count
"""
# One that a flush holds just now is left for the next try.
SEAL = """
UPDATE events_eventhead h
    SET sealed_count = v.count, sealed_in = %(number)s, seal = v.seal, seal_key = %(key)s, is_unsealed = h.count > v.count
    FROM unnest(%(chains)s::uuid[], %(counts)s::bigint[], %(seals)s::bytea[]) AS v(chain, count, seal)
    JOIN (SELECT l.correlation_id FROM events_eventhead l
        WHERE l.correlation_id = ANY(%(chains)s::uuid[]) FOR UPDATE SKIP LOCKED) free ON free.correlation_id = v.chain
    WHERE h.correlation_id = v.chain AND h.count >= v.count AND coalesce(h.sealed_in, 0) < %(number)s
"""
# Whether there is something to seal, or another key signs now, and the newest root is older than they are apart. No text of a
# root is taken for JSON: this is asked together with what other rounds ask, and one odd row is to stop none of them.
DUE = """
%s AND (EXISTS (SELECT 1 FROM events_eventhead WHERE is_unsealed)
    OR (SELECT position(%s IN r.statement) FROM events_root r ORDER BY r.number DESC LIMIT 1) = 0)
AND coalesce((SELECT r.at FROM events_root r ORDER BY r.number DESC LIMIT 1) NOT BETWEEN
    liyagent_now() - make_interval(secs => %s) AND liyagent_now(), true)
"""


@dataclass(slots=True)
class _Looked:
    """When this process looked last: what cannot be sealed is not looked at twice a second. And by which name, being no holder."""

    at: float = float("-inf")
    name: UUID = field(default_factory=uuid4)


LOOKED = _Looked()


def due_values() -> Sequence[Any]:
    """Return what `DUE` wants."""
    seconds, signs = settings.LIYAGENT.roots.seconds, f'"public":"{signing_key().public}"'
    return [time.monotonic() - LOOKED.at >= seconds, signs, seconds]


def seal_due(give_up: Callable[[], bool]) -> int:
    """Seal all that changed, in as many roots as it takes; return how many. One process at a time does."""
    LOOKED.at = time.monotonic()
    made = 0
    holder = OWN.holder or LOOKED.name
    chain: UUID | None = FIRST_CHAIN
    while chain is not None and not give_up():
        if take_lease(LEASE, holder=holder, seconds=LEASE_SECONDS) is None:
            break
        newest = newest_root()
        if not finish(newest):
            break
        chain, is_made = _seal_some(chain, newest)
        if is_made is None:
            break
        made += is_made
    return made


def seal_now() -> None:
    """Seal all that changed, as an export needs it. Raises `Conflict` where others are in the way all the time."""
    chain: UUID | None = FIRST_CHAIN
    tries = 0
    while chain is not None:
        newest = newest_root()
        after, is_made = _seal_some(chain, newest) if finish(newest) else (chain, None)
        if is_made is None:
            tries += 1
            if tries == EXPORT_TRIES:
                raise Conflict("another process seals the record all the time; try again")
            time.sleep(PAUSE_SECONDS)
            continue
        chain = after
    finish(newest_root())


def finish(newest: Newest) -> bool:
    """Put the seals on the heads of the newest root that have none of it yet; whether all have now."""
    if not newest.number:
        return True
    row = Root.objects.filter(number=newest.number).values_list("heads", flat=True).get()
    return _finish_all(unpacked_heads(row), newest.number)


def _seal_some(after: UUID, newest: Newest) -> tuple[UUID | None, bool | None]:
    """Make one root and its seals. Returns behind which chain to go on, None at the end; and whether it was made.

    None for the latter: another process made one, or somebody holds a head.
    """
    rows = _changed(after)
    batch = _batch_of(rows, newest)
    following = rows[-1][0] if len(rows) == HEADS_A_ROOT else None
    is_other_key = bool(newest.number) and newest.public != signing_key().public
    if not (batch.heads or batch.certificates or is_other_key):
        return following, False
    number = make_root(batch, after=newest)
    if number is None:
        return after, None
    ROOTS_MADE.inc()
    return following, True if _finish_all(batch.heads, number) else None


def _changed(after: UUID) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(CHANGED, [after, HEADS_A_ROOT])
        return list(cursor.fetchall())


def _batch_of(rows: list[tuple[Any, ...]], newest: Newest) -> Batch:
    """Take those whose last seal holds and whose last event is there: what was written anew is not sealed a second time."""
    heads: list[HeadLeaf] = []
    new_heads = new_events = 0
    for chain, count, digest, sealed_count, sealed_in, seal, seal_key, sealed_hash, last in rows:
        head = _Sealed(count, bytes(digest), sealed_count, sealed_in, bytes(seal), seal_key)
        wrong = check_seal(head, chain, None if sealed_hash is None else bytes(sealed_hash))
        if wrong is None and (
            len(head.hash) != HASH_BYTES or last is None or bytes(last) != head.hash
        ):
            reason = BreakReason.CUT_OFF
            wrong = Found(number=count, reason=reason, sentence=SENTENCES[reason])
        if wrong is not None:
            _tell_of(chain, wrong)
            continue
        heads.append((chain, count, head.hash))
        new_heads += not sealed_count
        new_events += count - sealed_count
    found = certificates_after(last_certificate(newest.number), limit=CERTIFICATES_A_ROOT)
    return Batch(
        heads=heads,
        certificates=[(it.number, it.digest) for it in found],
        new_heads=new_heads,
        new_events=new_events,
        purged_heads=sum(it.chains for it in found),
        purged_events=sum(it.events for it in found),
    )


def _tell_of(chain: UUID, wrong: Found) -> None:
    """While keys are rotated, a process can meet what a newer one sealed: that is for the others to seal again."""
    if wrong.reason == UNKNOWN_KEY:
        logger.warning("chain %s is left to a process that has its key: %s", chain, wrong.sentence)
        return
    SEALS_REFUSED.inc()
    logger.error("chain %s is not sealed: %s (%s)", chain, wrong.sentence, wrong.reason)


@dataclass(frozen=True, slots=True)
class _Sealed:
    count: int
    hash: bytes
    sealed_count: int
    sealed_in: int | None
    seal: bytes
    seal_key: str
    untagged: int = 0


def _some(heads: list[HeadLeaf]) -> Iterator[list[HeadLeaf]]:
    for at in range(0, len(heads), HEADS_AT_ONCE):
        yield heads[at : at + HEADS_AT_ONCE]


def _finish_all(heads: list[HeadLeaf], number: int) -> bool:
    """One that stays locked holds up none of the others."""
    finished = [_finish(some, number) for some in _some(heads)]
    return all(finished)


def _finish(heads: list[HeadLeaf], number: int) -> bool:
    """Seal these heads as of that root; whether none of them is left. One that was purged, or put back, is not waited for."""
    for attempt in range(TRIES):
        owed = _owed(heads, number)
        if not owed:
            return True
        if attempt:
            time.sleep(PAUSE_SECONDS)
        _seal([it for it in heads if it[0] in owed], number)
    logger.error(
        "heads stay locked: root %d is sealed on later; one of them is %s", number, min(owed)
    )
    return False


def _owed(heads: list[HeadLeaf], number: int) -> set[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(OWED, [[it[0] for it in heads], [it[1] for it in heads], number])
        return {chain for (chain,) in cursor.fetchall()}


def _seal(heads: list[HeadLeaf], number: int) -> None:
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
