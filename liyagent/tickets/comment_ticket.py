"""Write a comment on a ticket."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from liyagent.audit.record import record
from liyagent.core.ids import new_id
from liyagent.core.plain import clean_text
from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.tickets.errors import BadTicket, TicketClosed, TicketFull
from liyagent.tickets.find import find_ticket
from liyagent.tickets.models import NOW, Comment, Ticket, TicketState
from liyagent.tickets.words import COMMENT, seal_words, text_of

LONGEST_COMMENT = 10_000
MOST_COMMENTS = 1_000


def comment_ticket(*, number: str, text: str, actor: str) -> Comment:
    """Add what a person writes, sealed, and audit that they did (`ticket.commented`), without the words.

    The very words of the newest comment, by the same person again, are that comment: an answer was lost on its way. Raises
    `TicketUnknown`, `TicketClosed`, `TicketFull` behind 1,000 comments, `BadTicket` for words that are none, or more than
    10,000 characters.
    """
    words = _checked(text)
    with transaction.atomic(durable=True):
        found = find_ticket(number)
        ticket = Ticket.objects.select_for_update().get(id=found.id)
        newest = Comment.objects.filter(ticket=ticket).order_by("-place").first()
        if newest is not None and _is_same(newest, words, actor):
            return newest
        if ticket.state == TicketState.CLOSED:
            raise TicketClosed(f"{ticket} is closed; file what is new elsewhere")
        if ticket.comments >= MOST_COMMENTS:
            raise TicketFull(f"{ticket} holds {MOST_COMMENTS} comments and takes no more")
        Ticket.objects.filter(id=ticket.id).update(comments=F("comments") + 1, changed_at=NOW)
        comment_id = new_id()
        sealed, key_id = seal_words(words, kind=COMMENT, row_id=comment_id)
        Comment.objects.create(
            id=comment_id, ticket=ticket, place=ticket.comments + 1, by=actor, sealed=sealed, key_id=key_id, created_at=NOW,
        )  # fmt: skip
        record(
            "ticket.commented",
            actor=actor,
            mission=ticket.mission,
            correlation_id=ticket.correlation_id,
            run_id=ticket.run_id,
            agent=ticket.agent_key,
            detail={"ticket": ticket.number, "comment": ticket.comments + 1},
        )
        return Comment.objects.get(id=comment_id)


def _checked(text: str) -> str:
    words = clean_text(text).strip()
    if not words:
        raise BadTicket("text is empty; it wants what is to be written on the ticket")
    if len(words) > LONGEST_COMMENT:
        raise BadTicket(f"text has {len(words)} characters; it wants {LONGEST_COMMENT} at most")
    return words


def _is_same(newest: Comment, words: str, actor: str) -> bool:
    try:
        return newest.by == actor and text_of(newest) == words
    except (KeyMissing, SealBroken):
        return False
