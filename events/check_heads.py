"""`events verify` over heads: none says that all of it is sealed while it is not. Such a one no round ever comes to."""

from __future__ import annotations

from collections.abc import Iterator

from events.by_chain import by_chain
from events.checking import Asked, Finding, Looked

CHECK = "heads"
AT_ONCE = 5_000
READ = """
SELECT correlation_id, NOT is_unsealed AND count > sealed_count FROM events_eventhead
    WHERE correlation_id >= %s AND correlation_id <= %s ORDER BY correlation_id LIMIT %s
"""
REASON = "kept_unsealed"
SENTENCE = (
    "its head says that all of it is sealed, and it is not: somebody keeps it out of the roots; "
    "set its is_unsealed to true, and the next root holds it"
)


def check_heads(asked: Asked) -> Iterator[Finding | Looked]:
    """Look at each head of the chains that are asked for, some at a time."""
    seen = 0
    for rows in by_chain(READ, asked, at_once=AT_ONCE):
        for chain, is_kept in rows:
            if is_kept:
                yield Finding(where=f"chain {chain}", reason=REASON, sentence=SENTENCE)
        seen += len(rows)
        yield Looked(check=CHECK, chains=seen)
