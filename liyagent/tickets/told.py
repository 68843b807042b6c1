"""A ticket with its words, for one who may read them; and why they are not there where they are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.tickets.body import Body
from liyagent.tickets.listing import list_comments
from liyagent.tickets.models import Comment, Ticket
from liyagent.tickets.words import body_of, text_of

NOT_FOR_YOU = "words are shown to who holds tickets.work or transcripts.content.read"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentTold:
    """A comment, and its text; None where it is not shown, and `words_missing` says why."""

    comment: Comment
    text: str | None
    words_missing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketTold:
    """A ticket, its body (None where it is not shown: `words_missing` says why), and its newest comments in their order.

    `before`: the cursor of the comments before them, "" where there are none.
    """

    ticket: Ticket
    body: Body | None
    words_missing: str
    comments: list[CommentTold]
    before: str


def ticket_told(ticket: Ticket, *, with_words: bool) -> TicketTold:
    """Return a ticket with its words. What cannot be opened is told of, and keeps nobody from the rest."""
    comments, before = comments_told(ticket, {}, with_words=with_words)
    body: Body | None = None
    missing = "" if with_words else NOT_FOR_YOU
    if with_words:
        try:
            body = body_of(ticket)
        except (KeyMissing, SealBroken) as error:
            missing = str(error)
    return TicketTold(
        ticket=ticket, body=body, words_missing=missing, comments=comments, before=before
    )


def comments_told(
    ticket: Ticket, asked: Mapping[str, str], *, with_words: bool
) -> tuple[list[CommentTold], str]:
    """Return comments as `list_comments` pages them, and the cursor of those before them. Raises `BadInput`."""
    page = list_comments(ticket, asked)
    return [comment_told(it, with_words=with_words) for it in page.comments], page.before


def comment_told(comment: Comment, *, with_words: bool) -> CommentTold:
    """Return a comment with its text, where it can be opened."""
    if not with_words:
        return CommentTold(comment=comment, text=None, words_missing=NOT_FOR_YOU)
    try:
        return CommentTold(comment=comment, text=text_of(comment), words_missing="")
    except (KeyMissing, SealBroken) as error:
        return CommentTold(comment=comment, text=None, words_missing=str(error))
