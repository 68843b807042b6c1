"""Named missions, newest first, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping

from liyagent.core.paging import (
    PAGING,
    Page,
    check_names,
    limit_of,
    read_cursor,
    write_cursor,
)
from missions.models import Mission
from missions.places import behind, moment_of, moment_written


def list_missions(asked: Mapping[str, str]) -> Page[Mission]:
    """Return the page that `limit` and `cursor` of `asked` name, those first seen last first. Raises `BadInput`."""
    check_names(asked, PAGING)
    limit = limit_of(asked)
    rows = Mission.objects.order_by("-first_seen", "-id")
    if "cursor" in asked:
        written, last_id = read_cursor(asked["cursor"], parts=2)
        at = moment_of(written)
        rows = rows.filter(behind(at, last_id, moment="first_seen"))
    found = list(rows[: limit + 1])
    last = found[limit - 1] if len(found) > limit else None
    cursor = write_cursor([moment_written(last.first_seen), last.id]) if last else ""
    return Page(rows=found[:limit], next_cursor=cursor)
