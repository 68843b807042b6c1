"""What a mission's timeline tells of tickets."""

from __future__ import annotations

from django.urls import reverse

from liyagent.access.permissions import VIEW_TICKET
from liyagent.tickets.models import Ticket
from missions.places import number_in
from missions.timeline import Entry, Source, register


def tickets_of(mission: str, before: str, limit: int) -> list[Entry]:
    """Return the tickets of a mission, the newest first: an entry each, with how it stands now."""
    rows = Ticket.objects.filter(mission=mission).defer("sealed").order_by("-serial")
    if before:
        rows = rows.filter(serial__lt=number_in(before))
    return [_entry(it) for it in rows[:limit]]


def _entry(ticket: Ticket) -> Entry:
    by = f", changed last by {ticket.changed_by}" if ticket.changed_by else ""
    state = ticket.state.replace("_", " ")
    return Entry(
        at=ticket.created_at,
        place=str(ticket.serial),
        kind="ticket",
        told=f"ticket {ticket} was filed for {ticket.queue}, {ticket.priority}; it is {state}{by}",
        by=ticket.created_by,
        run_id=ticket.run_id,
        url=reverse("ticket", args=[ticket.number]),
        facts={
            "ticket": ticket.number,
            "state": ticket.state,
            "priority": ticket.priority,
            "queue": ticket.queue,
            "source": ticket.source,
            "agent": ticket.agent_key,
            "comments": ticket.comments,
            "changed_by": ticket.changed_by,
            "changed_at": ticket.changed_at,
            "closed_at": ticket.closed_at,
        },
    )


register(Source(name="tickets", needs=VIEW_TICKET, entries=tickets_of))
