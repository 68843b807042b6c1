"""Find a ticket by its number."""

from __future__ import annotations

import re

from liyagent.core.tables import cell
from liyagent.tickets.errors import TicketUnknown
from liyagent.tickets.models import DIGITS, Ticket

NUMBER = re.compile(rf"[Tt]-([0-9]{{{DIGITS},18}})")


def serial_in(number: str) -> int | None:
    """Return the serial that a number such as `T-000123` names, None where it is none."""
    found = NUMBER.fullmatch(number.strip())
    return int(found[1]) if found else None


def find_ticket(number: str) -> Ticket:
    """Return the ticket with a number such as `T-000123`. Raises `TicketUnknown`."""
    serial = serial_in(number)
    if serial is None:
        raise TicketUnknown(
            f"{cell(number[:80])} is no number of a ticket; they look like T-000123"
        )
    ticket = Ticket.objects.filter(serial=serial).first()
    if ticket is None:
        raise TicketUnknown(
            f"there is no ticket {number.strip().upper()}; `/api/tickets` and `manage.py tickets list` list them"
        )
    return ticket
