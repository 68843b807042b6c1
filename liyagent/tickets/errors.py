"""What can go wrong with a ticket, each with its code."""

from __future__ import annotations

from http import HTTPStatus

from liyagent.core.errors import BadInput, Conflict, NotFound


class TicketUnknown(NotFound):
    """There is no ticket with this number."""

    code = "ticket.not_found"


class BadTicket(BadInput):
    """What was given of a ticket cannot be used."""

    code = "ticket.bad"


class TicketClosed(Conflict):
    """This ticket is closed: nothing of it changes any more."""

    code = "ticket.closed"


class TicketChanged(Conflict):
    """Somebody changed this ticket meanwhile: look at it again."""

    code = "ticket.changed"


class TicketFull(Conflict):
    """This ticket holds as many comments as it can."""

    code = "ticket.full"
    http_status = HTTPStatus.CONFLICT
