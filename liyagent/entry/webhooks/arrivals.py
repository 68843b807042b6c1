"""Pages of what a trigger let in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q

from liyagent.core.paging import Page, bad_cursor, limit_of, read_cursor, write_cursor
from liyagent.entry.models import Arrival
from liyagent.entry.webhooks.models import Trigger


def page_of_arrivals(trigger: Trigger, asked: Mapping[str, str]) -> Page[Arrival]:
    """Return the page that `limit` and `cursor` name, newest first. Raises `BadInput`."""
    limit = limit_of(asked)
    rows = Arrival.objects.filter(way=trigger.kind, source=trigger.key).defer("sealed")
    if "cursor" in asked:
        at, run_id = _place(asked["cursor"])
        rows = rows.filter(Q(received_at__lt=at) | Q(run_id__lt=run_id), received_at__lte=at)
    found = list(rows.order_by("-received_at", "-run_id")[: limit + 1])
    if len(found) <= limit:
        return Page(rows=found, next_cursor="")
    last = found[limit - 1]
    more = write_cursor([last.received_at.isoformat(), str(last.run_id)])
    return Page(rows=found[:limit], next_cursor=more)


def _place(cursor: str) -> tuple[datetime, UUID]:
    at, run_id = read_cursor(cursor, parts=2)
    try:
        moment, found = datetime.fromisoformat(at), UUID(run_id)
    except ValueError:
        raise bad_cursor() from None
    # As it is written; other offsets reach beyond the times that the database has.
    if moment.utcoffset() != timedelta():
        raise bad_cursor()
    return moment, found
