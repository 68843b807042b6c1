"""Pages of what a trigger let in."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from liyagent.core.paging import Page, bad_cursor, limit_of, read_cursor, write_cursor
from liyagent.entry.models import Arrival
from liyagent.entry.webhooks.models import Trigger


def page_of_arrivals(trigger: Trigger, asked: Mapping[str, str]) -> Page[Arrival]:
    """Return the page that `limit` and `cursor` name, newest first. Raises `BadInput`."""
    limit = limit_of(asked)
    rows = Arrival.objects.filter(way=trigger.kind, source=trigger.key).defer("sealed")
    if "cursor" in asked:
        rows = rows.filter(run_id__lt=_run_id(asked["cursor"]))
    found = list(rows.order_by("-run_id")[: limit + 1])
    more = write_cursor([str(found[limit - 1].run_id)]) if len(found) > limit else ""
    return Page(rows=found[:limit], next_cursor=more)


def _run_id(cursor: str) -> UUID:
    (text,) = read_cursor(cursor, parts=1)
    try:
        return UUID(text)
    except ValueError:
        raise bad_cursor() from None
