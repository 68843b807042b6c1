"""Change a ticket: its state, its priority, its queue; each change of exactly what was looked at."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import F

from liyagent.audit.record import record
from liyagent.tickets.errors import BadTicket, TicketChanged, TicketClosed
from liyagent.tickets.find import find_ticket
from liyagent.tickets.given import (
    checked_priority,
    checked_queue,
    checked_reason,
    checked_state,
)
from liyagent.tickets.models import NOW, Ticket, TicketState

CHANGED = ("state", "priority", "queue")


def change_ticket(
    *,
    number: str,
    revision: int,
    actor: str,
    state: str | None = None,
    priority: str | None = None,
    queue: str | None = None,
    reason: str = "",
) -> Ticket:
    """Change what is given of the ticket as it stood at `revision`; return it as it stands now.

    What was changed from what to what is audited as `ticket.changed`. What stands so already changes nothing, and the very
    same change by the same person again is the first one: an answer was lost on its way. Raises `TicketUnknown`,
    `TicketClosed`, `BadTicket`, and `TicketChanged` where somebody else changed it since `revision`.
    """
    wanted = _checked(state, priority, queue)
    reason = checked_reason(reason)
    with transaction.atomic(durable=True):
        ticket = find_ticket(number)
        before = {name: getattr(ticket, name) for name in wanted}
        is_as_seen = ticket.revision == revision
        if before == wanted and (is_as_seen or _is_repeated(ticket, revision, actor)):
            return ticket
        if ticket.state == TicketState.CLOSED:
            raise TicketClosed(
                f"{ticket} is closed, by {ticket.changed_by}; nothing of it changes any more"
            )
        if not is_as_seen or not _is_set(ticket, wanted, actor):
            raise TicketChanged(_told(Ticket.objects.get(id=ticket.id), revision))
        record(
            "ticket.changed",
            actor=actor,
            mission=ticket.mission,
            correlation_id=ticket.correlation_id,
            run_id=ticket.run_id,
            agent=ticket.agent_key,
            detail={"ticket": ticket.number, "from": before, "to": wanted, "reason": reason},
        )
        return Ticket.objects.get(id=ticket.id)


def _checked(state: str | None, priority: str | None, queue: str | None) -> dict[str, str]:
    wanted = {}
    if state is not None:
        wanted["state"] = checked_state(state)
    if priority is not None:
        wanted["priority"] = checked_priority(priority)
    if queue is not None:
        wanted["queue"] = checked_queue(queue)
    if not wanted:
        raise BadTicket(f"nothing is to be changed; it wants one of {', '.join(CHANGED)}")
    return wanted


def _is_set(ticket: Ticket, wanted: dict[str, str], actor: str) -> bool:
    """Whether it stood as it was seen, and nobody changed it meanwhile."""
    is_closed = wanted.get("state") == TicketState.CLOSED
    values: dict[str, Any] = {**wanted, **({"closed_at": NOW} if is_closed else {})}
    rows = Ticket.objects.filter(id=ticket.id, revision=ticket.revision)
    return bool(rows.update(**values, revision=F("revision") + 1, changed_by=actor, changed_at=NOW))


def _is_repeated(ticket: Ticket, revision: int, actor: str) -> bool:
    return ticket.revision == revision + 1 and ticket.changed_by == actor


def _told(ticket: Ticket, revision: int) -> str:
    return (
        f"{ticket} is at revision {ticket.revision}, changed last by {ticket.changed_by or 'nobody'}, and not at {revision}: "
        f"it is {ticket.state}, {ticket.priority}, in {ticket.queue!r}"
    )
