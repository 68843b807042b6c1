"""What is stored of what was handed over, read a few at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models.functions import Left

from handoffs.content import MOST_BYTES, Content
from handoffs.models import Snapshot

# Each can have a megabyte.
AT_ONCE = 8


def contents_under(digests: Sequence[str]) -> Iterator[tuple[str, Content]]:
    """Yield what is stored under each of these digests, in their order, as far as it is there; a few are in memory."""
    for start in range(0, len(digests), AT_ONCE):
        some = digests[start : start + AT_ONCE]
        found = dict(_read(some))
        yield from ((it, found[it]) for it in some if it in found)


def content_under(digest: str) -> Content | None:
    """Return what is stored under a digest, None where nothing is."""
    return next((content for _, content in contents_under([digest])), None)


def _read(digests: Sequence[str]) -> Iterator[tuple[str, Content]]:
    # Of a row that somebody made longer than any of ours the beginning is enough: it hashes to something else.
    rows = Snapshot.objects.filter(digest__in=digests).annotate(start=Left("body", MOST_BYTES + 1))
    columns = rows.values_list("digest", "sender", "recipient", "kind", "start")
    for digest, sender, recipient, kind, body in columns:
        yield digest, Content(sender=sender, recipient=recipient, kind=kind, body=body)
