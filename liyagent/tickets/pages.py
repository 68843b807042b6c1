"""What the page of a ticket shows: its words by section, nothing in them obeyed, hidden, or cut in silence."""

from __future__ import annotations

from typing import Any

from django.utils.safestring import SafeString

from liyagent.core.moments import when
from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from liyagent.core.tables import cell, visible
from liyagent.tickets.body import Body, sections_of
from liyagent.tickets.models import Priority, Ticket, TicketState
from liyagent.tickets.told import CommentTold

LONGEST_SECTION, LONGEST_PAGE = 20_000, 200_000
STATES = {
    TicketState.OPEN: ("open", WARN),
    TicketState.IN_PROGRESS: ("in progress", QUIET),
    TicketState.RESOLVED: ("resolved", GOOD),
    TicketState.CLOSED: ("closed", QUIET),
}
# Sections of what a failed run left, by their names in the body.
NAMES = {
    "not_undone": "What is not undone",
    "writes_of_unknown_outcome": "Writes of unknown outcome",
    "run": "The run",
    "error": "Why it ended",
    "workflow": "Workflow",
    "version": "Its version",
    "failed_step": "Where it failed",
    "input": "Its input",
    "vars": "Its variables",
    "task": "Its task",
    "history": "What was said before",
    "attempts": "Its tries",
    "undos": "Every write with an undo, the newest first",
    "counted": "How many",
    "not_filed_elsewhere": "Why it stands here, and not in the other ticket system",
}
PRIORITIES = {Priority.P1: BAD, Priority.P2: WARN}
# Where a ticket may go from where it stands, and the words of the button that leads there.
WAYS: dict[str, tuple[tuple[TicketState, str], ...]] = {
    TicketState.OPEN: (
        (TicketState.IN_PROGRESS, "Take it on"),
        (TicketState.RESOLVED, "Resolve"),
        (TicketState.CLOSED, "Close"),
    ),
    TicketState.IN_PROGRESS: (
        (TicketState.RESOLVED, "Resolve"),
        (TicketState.CLOSED, "Close"),
        (TicketState.OPEN, "Put it back"),
    ),
    TicketState.RESOLVED: ((TicketState.CLOSED, "Close"), (TicketState.OPEN, "Open it again")),
    TicketState.CLOSED: (),
}


def state_of(ticket: Ticket) -> SafeString:
    """Return where it stands, in words."""
    words, kind = STATES[TicketState(ticket.state)]
    return pill(words, kind)


def priority_of(ticket: Ticket) -> SafeString:
    """Return how soon somebody has to look."""
    return pill(ticket.priority, PRIORITIES.get(Priority(ticket.priority), QUIET))


def shown_sections(body: Body) -> list[dict[str, Any]]:
    """Return a body section by section, at most some 200,000 characters in all; `left_out` says how many more there are."""
    sections = sections_of(body)
    most = min(LONGEST_SECTION, LONGEST_PAGE // max(1, len(sections)))
    return [
        {
            "name": NAMES.get(it.name) or (cell(it.name) if it.name else ""),
            "text": visible(it.text[:most]),
            "left_out": max(0, len(it.text) - most),
        }
        for it in sections
    ]


def shown_comment(told: CommentTold) -> dict[str, Any]:
    """Return a comment as the page shows it."""
    return {
        "place": told.comment.place,
        "by": cell(told.comment.by),
        "at": when(told.comment.created_at),
        "text": "" if told.text is None else visible(told.text),
        "missing": visible(told.words_missing),
    }
