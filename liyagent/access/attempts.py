"""Count what failed, and say how long to wait: in the database, for two processes share the guesser.

A login is counted three times: by user name and address, by address, and by user name from addresses that
the user never logged in from. What is refused is not counted any further, so one address adds at most
`LIMITS[PAIR]` to the count of a user name and locks nobody out who comes from elsewhere; and a user attacked
from everywhere still gets in from where they got in before.
"""

from __future__ import annotations

import hashlib
import logging
import math
import unicodedata
from collections.abc import Mapping

from django.db import connection, transaction

from liyagent.access.models import Counted
from liyagent.core.client_address import counted_as
from liyagent.core.metrics import BAD_KEYS, LOGINS_REFUSED

logger = logging.getLogger(__name__)

WINDOW_SECONDS = 900
KNOWN_SECONDS = 90 * 86_400
LIMITS: Mapping[str, int] = {
    Counted.PAIR: 10,
    Counted.ADDRESS: 50,
    Counted.USER: 50,
    Counted.KEY: 50,
}
MOST_PRUNED = 100

Subject = tuple[str, str]

LOOK = """
SELECT kind, count, extract(epoch FROM expires_at - liyagent_now())::float
FROM access_attempt WHERE (kind, subject) IN (SELECT * FROM unnest(%s::text[], %s::text[])) AND expires_at > liyagent_now()
"""
ADD = """
INSERT INTO access_attempt AS a (kind, subject, count, expires_at)
VALUES (%s, %s, 1, liyagent_now() + %s * interval '1 second')
ON CONFLICT (kind, subject) DO UPDATE SET
    count = CASE WHEN a.expires_at <= liyagent_now() THEN 1 ELSE a.count + 1 END,
    expires_at = CASE WHEN a.expires_at <= liyagent_now() OR a.kind = 'known' THEN excluded.expires_at ELSE a.expires_at END
RETURNING count, extract(epoch FROM expires_at - liyagent_now())::float
"""
TAKE_BACK = (
    "UPDATE access_attempt SET count = count - 1 WHERE kind = %s AND subject = %s AND count > 0"
)
PRUNE = """
DELETE FROM access_attempt WHERE id IN (
    SELECT id FROM access_attempt WHERE expires_at <= liyagent_now() ORDER BY expires_at LIMIT %s FOR UPDATE SKIP LOCKED)
"""


def reserve_login(username: str, address: str) -> int:
    """Count a login before its password is looked at; return the seconds to wait, 0 where it may be tried.

    Counted first, so that a thousand at once are not more than the limit. `settle_login` takes it back.
    """
    subjects = _subjects(username, address)
    seconds = _wait([*subjects, _known(username, address)])
    seconds = seconds or _count(subjects)
    LOGINS_REFUSED.inc(seconds > 0)
    return seconds


def settle_login(username: str, address: str) -> None:
    """Take back what a login that succeeded was counted, and remember the user's address."""
    with transaction.atomic(), connection.cursor() as cursor:
        for subject in _subjects(username, address):
            cursor.execute(TAKE_BACK, subject)
        cursor.execute(ADD, [*_known(username, address), KNOWN_SECONDS])


def count_bad_key(address: str) -> int:
    """Count a token that is no key; return the seconds to wait, 0 below the limit."""
    BAD_KEYS.inc()
    subject = (Counted.KEY.value, _digest(counted_as(address)))
    return _wait([subject]) or _count([subject])


def _wait(subjects: list[Subject]) -> int:
    """Return how long what is full stays so; a user name counts only where the address is not known for it."""
    with connection.cursor() as cursor:
        kinds, digests = zip(*subjects, strict=True)
        cursor.execute(LOOK, [list(kinds), list(digests)])
        rows = {kind: (count, seconds) for kind, count, seconds in cursor.fetchall()}
    if Counted.KNOWN in rows:
        rows.pop(Counted.USER, None)
    full = [
        seconds
        for kind, (count, seconds) in rows.items()
        if kind in LIMITS and count >= LIMITS[kind]
    ]
    return math.ceil(max(full, default=0))


def _count(subjects: list[Subject]) -> int:
    waits = [0.0]
    with transaction.atomic(), connection.cursor() as cursor:
        for kind, digest in subjects:
            cursor.execute(ADD, [kind, digest, WINDOW_SECONDS])
            count, seconds = cursor.fetchone()
            if count == LIMITS[kind]:
                logger.warning("too many attempts by %s %s", Counted(kind).label, digest[:12])
            if count > LIMITS[kind] and kind != Counted.USER:
                waits.append(seconds)
        cursor.execute(PRUNE, [MOST_PRUNED])
    return math.ceil(max(waits))


def _subjects(username: str, address: str) -> list[Subject]:
    """Return what a login is counted under, in the order that rows are locked in."""
    user, place = _name(username), counted_as(address)
    return [
        (Counted.PAIR.value, _digest(user, place)),
        (Counted.ADDRESS.value, _digest(place)),
        (Counted.USER.value, _digest(user)),
    ]


def _known(username: str, address: str) -> Subject:
    return Counted.KNOWN.value, _digest(_name(username), counted_as(address))


def _name(username: str) -> str:
    """As the login form reads it."""
    return unicodedata.normalize("NFKC", username).strip()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode(errors="replace")).hexdigest()
