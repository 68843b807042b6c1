"""Tickets a page at a time, the newest first; and what was written on one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from liyagent.core.paging import (
    PAGING,
    Page,
    check_names,
    limit_of,
    read_cursor,
    write_cursor,
)
from liyagent.tickets.errors import BadTicket
from liyagent.tickets.given import checked_priority, checked_queue, checked_state
from liyagent.tickets.models import Comment, Ticket
from missions.names import clean_mission
from missions.places import number_in

# How many tickets of what an index finds are looked through for the other filters, at most, for one page.
MOST_LOOKED_THROUGH = 10_000
# What an index leads to, in this order of preference: what is most likely in few rows comes first.
COLUMNS = {
    "run": "run_id",
    "mission": "mission",
    "state": "state",
    "queue": "queue",
    "priority": "priority",
}
FILTERS = (*COLUMNS, *PAGING)
# Bodies are never read for a list (ruling 12).
BODIES = ("sealed",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comments:
    """Some comments of a ticket in the order in which they were written, and where those before them are; "" for none."""

    comments: list[Comment]
    before: str


def list_tickets(asked: Mapping[str, str]) -> Page[Ticket]:
    """Return the page that `asked` (of `FILTERS`) names, the newest first. Raises `BadInput` naming what is allowed.

    A page can be short, or empty, and yet lead on: then what was looked through held no more that fit.
    """
    check_names(asked, FILTERS)
    limit = limit_of(asked)
    chosen = [(COLUMNS[name], _checked(name, asked[name])) for name in COLUMNS if name in asked]
    rows = Ticket.objects.filter(**dict(chosen[:1])).order_by("-serial")
    if "cursor" in asked:
        rows = rows.filter(serial__lt=_number(asked["cursor"]))
    if len(chosen) > 1:
        return _looked_through(rows, chosen[1:], limit=limit)
    found = list(rows.defer(*BODIES)[: limit + 1])
    more = write_cursor([str(found[limit - 1].serial)]) if len(found) > limit else ""
    return Page(rows=found[:limit], next_cursor=more)


def _looked_through(
    rows: QuerySet[Ticket], others: Sequence[tuple[str, str]], *, limit: int
) -> Page[Ticket]:
    """Compare here and not by a condition: there is then no index that can be taken for a shorter way, through all."""
    looked_at = list(rows.values_list("serial", *(it for it, _ in others))[:MOST_LOOKED_THROUGH])
    wanted = [value for _, value in others]
    fits = [it[0] for it in looked_at if list(it[1:]) == wanted]
    is_full = len(looked_at) == MOST_LOOKED_THROUGH
    last = fits[limit - 1] if len(fits) > limit else looked_at[-1][0] if is_full else None
    found = Ticket.objects.filter(serial__in=fits[:limit]).order_by("-serial").defer(*BODIES)
    return Page(rows=list(found), next_cursor=write_cursor([str(last)]) if last is not None else "")


def list_comments(ticket: Ticket, asked: Mapping[str, str]) -> Comments:
    """Return the newest comments, or those before a `cursor`, at most `limit`. Raises `BadInput`."""
    check_names(asked, PAGING)
    limit = limit_of(asked)
    rows = Comment.objects.filter(ticket=ticket).order_by("-place")
    if "cursor" in asked:
        rows = rows.filter(place__lt=_number(asked["cursor"]))
    found = list(rows[: limit + 1])
    before = write_cursor([str(found[limit - 1].place)]) if len(found) > limit else ""
    return Comments(comments=found[:limit][::-1], before=before)


def _number(cursor: str) -> int:
    (text,) = read_cursor(cursor, parts=1)
    return number_in(text)


def _checked(name: str, value: str) -> str:
    if name == "state":
        return checked_state(value)
    if name == "priority":
        return checked_priority(value)
    if name == "queue":
        return checked_queue(value)
    if name == "run":
        return _run_id(value)
    if clean_mission(value) is None:
        raise BadTicket(
            f"mission is {value[:80]!r}; it wants 1 to 128 letters, digits, "
            "'.', '_', ':' and '-', first a letter or digit"
        )
    return value


def _run_id(value: str) -> str:
    try:
        return str(UUID(value))
    except ValueError:
        raise BadTicket(f"run is {value[:80]!r}; it wants the id of a run") from None
