"""The words of tickets: sealed with the newest key, each under a data key of its own row's id (ruling 16)."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings

from liyagent.core.seal import KeyMissing, Keyring, SealBroken
from liyagent.tickets.body import Body
from liyagent.tickets.models import Comment, Ticket

# Both by a format of their own, that no checkpoint's change makes unreadable.
BODY, COMMENT = "ticket", "comment"
FORMAT = 1


def seal_words(words: Body, *, kind: str, row_id: UUID) -> tuple[bytes, str]:
    """Return `words` sealed for the row with that id, and the id of the key that did it."""
    ring = Keyring(settings.LIYAGENT.seal_keys)
    sealer = ring.sealer(key_id=ring.newest, run_id=row_id, format_number=FORMAT)
    return sealer.seal(words, kind=kind, number=0), ring.newest


def body_of(ticket: Ticket) -> Body:
    """Return the body of a ticket. Raises `KeyMissing`, `SealBroken`."""
    body: Body = _opened(ticket, kind=BODY, what=f"the body of {ticket}")
    return body


def text_of(comment: Comment) -> str:
    """Return what a comment says. Raises `KeyMissing`, `SealBroken`."""
    text = _opened(comment, kind=COMMENT, what=f"comment {comment.place}")
    return str(text)


def _opened(row: Ticket | Comment, *, kind: str, what: str) -> Body:
    ring = Keyring(settings.LIYAGENT.seal_keys)
    try:
        sealer = ring.sealer(key_id=row.key_id, run_id=row.id, format_number=FORMAT)
        found: Body = sealer.open(row.sealed, kind=kind, number=0)
    except KeyMissing:
        told = f"{what} is sealed with the key {row.key_id!r}, which is not here"
        raise KeyMissing(told) from None
    except SealBroken:
        raise SealBroken(f"{what} does not verify against its seal") from None
    return found
