"""Whether each purge was one that the rules allow, and whole: for `manage.py events verify` (ruling 28)."""

from __future__ import annotations

from collections.abc import Iterator

from events.by_chain import by_chain
from events.checking import Asked, Finding, Looked

CHECK = "purges"
AT_ONCE = 1000
# Days and a time that somebody wrote by hand are reckoned with as far as a time can go.
DAYS = "24 * greatest(least(p.kept_days, 1000000), 1)"
# One that is to come is none: it was purged by now, or not at all.
AT = "least(greatest(p.at, timestamptz '0001-01-01Z'), liyagent_now())"
LAST_AT = "least(p.last_at, timestamptz '100000-01-01Z')"
# What is left of a chain that was purged, and whether it had rested: none ends before its id was made, a UUIDv7.
BEGUN = "'epoch'::timestamptz + ('x' || left(replace(p.correlation_id::text, '-', ''), 12))::bit(48)::bigint * interval '1 ms'"
READ = f"""
SELECT p.correlation_id, p.number, p.kept_days,
        p.kept_days < 1 OR {AT} < greatest({LAST_AT}, {BEGUN}) + make_interval(hours => {DAYS}),
        EXISTS (SELECT 1 FROM events_runevent e WHERE e.correlation_id = p.correlation_id)
            OR EXISTS (SELECT 1 FROM events_eventhead h WHERE h.correlation_id = p.correlation_id)
    FROM events_purgecertificate p
    WHERE p.correlation_id >= %s AND p.correlation_id <= %s ORDER BY p.correlation_id LIMIT %s
"""  # noqa: S608 - a constant
SENTENCES = {
    "purged_early": "purged though it began, or its last event was written, less than {days} days before",
    "not_whole": "purged, and something of it is here: the purge was not whole, or somebody wrote it anew",
}


def check_purges(asked: Asked) -> Iterator[Finding | Looked]:
    """Look at each certificate of the chains that are asked for, some at a time."""
    seen = 0
    for rows in by_chain(READ, asked, at_once=AT_ONCE):
        for chain, number, days, is_early, is_left in rows:
            where = f"purge {number} of chain {chain}"
            for reason, is_so in (("purged_early", is_early), ("not_whole", is_left)):
                if is_so:
                    sentence = SENTENCES[reason].format(days=days)
                    yield Finding(where=where, reason=reason, sentence=sentence)
        seen += len(rows)
        yield Looked(check=CHECK, chains=seen)
