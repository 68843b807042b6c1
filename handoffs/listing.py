"""Threads a page at a time, the newest first; none of what was handed over in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from handoffs.errors import BadHandoff
from handoffs.models import Snapshot, Version
from liyagent.core.paging import PAGING, check_names, limit_of, read_cursor, write_cursor
from missions.names import clean_mission
from missions.places import behind, place_of, read_numbered

# Of a mission so many versions are looked through for one page, at most: those of a thread stand side by side.
MOST_LOOKED_THROUGH = 10_000
FILTERS = ("mission", *PAGING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A thread: its first and newest version, and facts of the first, None where what it handed over is gone."""

    first: Version
    head: Version
    about: Snapshot | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPage:
    """Some threads. `next_cursor` is empty where nothing follows."""

    threads: list[Listed]
    next_cursor: str


def list_threads(asked: Mapping[str, str]) -> ThreadPage:
    """Return the page that `asked` (of `FILTERS`) names. Raises `BadInput` naming what is allowed.

    A page of a mission can be short, or empty, and yet lead on.
    """
    check_names(asked, FILTERS)
    limit = limit_of(asked)
    rows = Version.objects.order_by("-at", "-id")
    if "cursor" in asked:
        (place,) = read_cursor(asked["cursor"], parts=1)
        rows = rows.filter(behind(*read_numbered(place), moment="at"))
    if "mission" not in asked:
        found = list(rows.filter(number=1)[: limit + 1])
        return _page(found[:limit], found[limit - 1] if len(found) > limit else None)
    return _of_mission(rows.filter(mission=_checked(asked["mission"])), limit=limit)


def _of_mission(rows: QuerySet[Version], *, limit: int) -> ThreadPage:
    """Compare here and not by a condition: no index of all threads can then be taken for a shorter way."""
    looked_at = list(rows.values_list("id", "number")[:MOST_LOOKED_THROUGH])
    fits = [it for it, number in looked_at if number == 1]
    is_full = len(looked_at) == MOST_LOOKED_THROUGH
    last = fits[limit - 1] if len(fits) > limit else looked_at[-1][0] if is_full else None
    wanted = [*fits[:limit], *([] if last is None else [last])]
    found = Version.objects.in_bulk(wanted)
    shown = [found[it] for it in fits[:limit]]
    return _page(shown, None if last is None else found[last])


def _page(firsts: Sequence[Version], last: Version | None) -> ThreadPage:
    heads = heads_of([it.thread for it in firsts])
    about = facts_of([it.snapshot_id for it in firsts])
    listed = [
        Listed(first=it, head=heads.get(it.thread, it), about=about.get(it.snapshot_id))
        for it in firsts
    ]
    cursor = "" if last is None else write_cursor([place_of(last.at, last.id)])
    return ThreadPage(threads=listed, next_cursor=cursor)


def heads_of(threads: Sequence[UUID]) -> dict[UUID, Version]:
    """Return the newest version of each of these threads: one statement."""
    rows = Version.objects.filter(thread__in=threads)
    return {it.thread: it for it in rows.order_by("thread", "-number").distinct("thread")}


def facts_of(digests: Sequence[str]) -> dict[str, Snapshot]:
    """Return who handed what kind to whom, without the body: one statement."""
    return {it.digest: it for it in Snapshot.objects.filter(digest__in=digests).defer("body")}


def _checked(mission: str) -> str:
    if clean_mission(mission) is None:
        raise BadHandoff(
            path="mission",
            why="it wants 1 to 128 letters, digits, '.', '_', ':' and '-', first a letter or digit",
        )
    return mission
