"""Seal what was appended: a root over the heads that changed, then a seal on each of them.

A round of one process, never part of the hot path. The root stands before the seals that name it; what a death leaves
between the two is done first by whoever comes next (`events.put_seals`). A head that somebody holds keeps none of the others.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection

from events.certificates import certificates_after, last_certificate
from events.chain import BreakReason
from events.checking import FIRST as FIRST_CHAIN
from events.head_seals import UNKNOWN_KEY, check_seal
from events.put_seals import finish, put_seals
from events.root_log import HASH_BYTES, HeadLeaf, Held
from events.roots import Batch, Newest, NotOurRoot, make_root, newest_root
from events.signing import signing_key
from events.verdict import SENTENCES, Found
from liyagent.core.errors import Conflict
from liyagent.core.metrics import HEADS_HELD, ROOTS_MADE, SEALING_STOPPED, SEALS_REFUSED
from liyagent.core.readiness import STATE
from liyagent.leases.lease import take_lease
from liyagent.leases.own import OWN

logger = logging.getLogger(__name__)

LEASE, LEASE_SECONDS = "seals", 20.0
# A root keeps 56 bytes for each of these.
HEADS_A_ROOT = 10_000
CERTIFICATES_A_ROOT = 1_000
# A root names as many that somebody holds; with more than these it waits.
MOST_HELD = 10_000
EXPORT_TRIES, PAUSE_SECONDS = 20, 0.025
CHANGED = """
SELECT h.correlation_id, h.count, h.hash, h.sealed_count, h.sealed_in, h.seal, h.seal_key, e.hash, t.hash
    FROM events_eventhead h
    LEFT JOIN events_runevent e ON e.correlation_id = h.correlation_id AND e.number = h.sealed_count
    LEFT JOIN events_runevent t ON t.correlation_id = h.correlation_id AND t.number = h.count
    WHERE h.is_unsealed AND h.count > 0 AND h.correlation_id > %s ORDER BY h.correlation_id LIMIT %s
"""
# Whether there is something to seal, or another key signs now, and the newest root is older than they are apart. No text of a
# root is taken for JSON: this is asked together with what other rounds ask, and one odd row is to stop none of them.
DUE = """
%s AND (%s OR (EXISTS (SELECT 1 FROM events_eventhead WHERE is_unsealed)
    OR (SELECT position(%s IN r.statement) FROM events_root r ORDER BY r.number DESC LIMIT 1) = 0)
AND coalesce((SELECT r.at FROM events_root r ORDER BY r.number DESC LIMIT 1) NOT BETWEEN
    liyagent_now() - make_interval(secs => %s) AND liyagent_now(), true))
"""
NOTE = "the record is not sealed any more: its newest root is none of ours; `manage.py events verify` and docs/evidence.md say more"


@dataclass(slots=True)
class _Looked:
    """When this process looked last: what cannot be sealed is not looked at twice a second. And by which name, being no holder.

    While it is stopped it looks again each time: what stopped it may have been taken away.
    """

    at: float = float("-inf")
    is_stopped: bool = False
    name: UUID = field(default_factory=uuid4)


LOOKED = _Looked()


def due_values() -> Sequence[Any]:
    """Return what `DUE` wants."""
    seconds, signs = settings.LIYAGENT.roots.seconds, f'"public":"{signing_key().public}"'
    return [time.monotonic() - LOOKED.at >= seconds, LOOKED.is_stopped, signs, seconds]


def seal_due(give_up: Callable[[], bool]) -> int:
    """Seal all that changed, in as many roots as it takes; return how many. One process at a time does.

    Behind a root that is none of ours nothing is sealed: each process says so, until it was taken away.
    """
    LOOKED.at = time.monotonic()
    try:
        newest_root()
        made = _seal_all(give_up)
    except NotOurRoot as error:
        logger.error("SEALING HAS STOPPED: %s", error)
        _note(is_stopped=True)
        return 0
    _note(is_stopped=False)
    return made


def _note(*, is_stopped: bool) -> None:
    LOOKED.is_stopped = is_stopped
    SEALING_STOPPED.set(is_stopped)
    (STATE.notes.add if is_stopped else STATE.notes.discard)(NOTE)


def _seal_all(give_up: Callable[[], bool]) -> int:
    made = 0
    holder = OWN.holder or LOOKED.name
    chain: UUID | None = FIRST_CHAIN
    while chain is not None and not give_up():
        lease = take_lease(LEASE, holder=holder, seconds=LEASE_SECONDS, longest=LEASE_SECONDS)
        if lease is None:
            HEADS_HELD.set(0)
            break
        newest = newest_root()
        held = finish(newest)
        _tell_of_held(held)
        if len(held) > MOST_HELD:
            break
        chain, is_made = _seal_some(chain, newest, held)
        if is_made is None:
            break
        made += is_made
    return made


def _tell_of_held(held: Held) -> None:
    HEADS_HELD.set(len(held))
    if held:
        chain, number = min(held.items(), key=lambda it: it[1])
        logger.warning(
            "%d heads wait for their seal, as somebody holds them; one is %s, of root %d",
            len(held), chain, number,
        )  # fmt: skip


def seal_now() -> None:
    """Seal all that changed, as an export needs it, but for heads that somebody holds.

    Raises `Conflict` where others are in the way all the time, and `NotOurRoot`.
    """
    chain: UUID | None = FIRST_CHAIN
    tries = 0
    while chain is not None:
        newest = newest_root()
        after, is_made = _seal_some(chain, newest, finish(newest))
        if is_made is None:
            tries += 1
            if tries == EXPORT_TRIES:
                raise Conflict("another process seals the record all the time; try again")
            time.sleep(PAUSE_SECONDS)
            continue
        chain = after
    finish(newest_root())


def _seal_some(after: UUID, newest: Newest, held: Held) -> tuple[UUID | None, bool | None]:
    """Make one root and its seals. Returns behind which chain to go on, None at the end; and whether it was made.

    None for the latter: another process made one. What is `held` still waits for the seal of an older root.
    """
    rows = _changed(after)
    batch = _batch_of([row for row in rows if row[0] not in held], newest)
    following = rows[-1][0] if len(rows) == HEADS_A_ROOT else None
    is_other_key = bool(newest.number) and newest.public != signing_key().public
    if not (batch.heads or batch.certificates or is_other_key):
        return following, False
    number = make_root(batch, after=newest, held=held)
    if number is None:
        return after, None
    ROOTS_MADE.inc()
    put_seals(batch.heads, number)
    return following, True


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
