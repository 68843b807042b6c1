"""One timeline of a mission over all that the rooms keep of it: each room says what is its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from liyagent.core.errors import BadInput
from liyagent.core.paging import bad_cursor, read_cursor, write_cursor

LONGEST_PLACE = 100
AT_THE_END = "."


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line: what happened at `at`, in a sentence, and plain facts of it; never anybody's words.

    `place` is where its source goes on after it: its source's own, unique within it, of at most 100 characters. `url` is
    where the API shows more. `leads_on`: its source looked no further, and there may be more behind it.
    """

    at: datetime
    place: str
    kind: str
    told: str
    by: str = ""
    run_id: UUID | None = None
    url: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    leads_on: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a room tells of a mission, for those who hold the permission `needs`.

    `entries(mission, before, limit)` returns at most `limit` entries that come after the place `before` ("" for the first),
    newest first, by one bounded look; fewer are all there are, unless the last one leads on. It raises `BadInput` for a place that it never named.
    """

    name: str
    needs: str
    entries: Callable[[str, str, int], Sequence[Entry]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An entry and the source that told it."""

    source: str
    entry: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelinePage:
    """The newest first. `next_cursor` is empty where nothing follows."""

    lines: list[Line]
    next_cursor: str


# By name, in the order in which rooms are loaded: filled by each room's `AppConfig.ready`.
SOURCES: dict[str, Source] = {}


def register(source: Source) -> None:
    """Have a timeline tell what `source` has. Raises `ValueError` for a name that is taken."""
    if SOURCES.setdefault(source.name, source) is not source:
        raise ValueError(f"two sources of the timeline are called {source.name}")


def page_of(
    mission: str, sources: Iterable[Source], *, limit: int, cursor: str = ""
) -> TimelinePage:
    """Return the newest entries of `sources` together, at most `limit`, after what `cursor` names.

    However many rows a mission has: one look of `limit` + 1 rows into each source. Of what was there with the first page
    nothing is left out, and nothing is told twice, whatever is written meanwhile: each source goes on from its own place. Raises `BadInput` for a cursor that no page
    of the same sources named.
    """
    asked = list(sources)
    places = _places(cursor, asked)
    found: list[Line] = []
    for source in asked:
        if places[source.name] != AT_THE_END:
            rows = source.entries(mission, places[source.name], limit + 1)
            found += [Line(source=source.name, entry=it) for it in rows]
    lines = _merged(found)[:limit]
    for line in lines:
        places[line.source] = line.entry.place
    left = _not_told_out(found, lines)
    if not left:
        return TimelinePage(lines=lines, next_cursor="")
    ended = {it.name for it in asked} - left
    return TimelinePage(lines=lines, next_cursor=_cursor(places, ended))


def _merged(found: Sequence[Line]) -> list[Line]:
    """In the order of time, and within a source in its own: an entry waits for those that its source told before it."""
    earliest: dict[str, datetime] = {}
    keyed: list[tuple[datetime, Line]] = []
    for line in found:
        at = min(line.entry.at, earliest.get(line.source, line.entry.at))
        earliest[line.source] = at
        keyed.append((at, line))
    return [line for _, line in sorted(keyed, key=lambda it: it[0], reverse=True)]


def _not_told_out(found: Sequence[Line], lines: Sequence[Line]) -> set[str]:
    """The sources of which something that was found is not shown, or that looked no further."""
    shown = {(it.source, it.entry.place) for it in lines}
    return {
        it.source for it in found if it.entry.leads_on or (it.source, it.entry.place) not in shown
    }


def _cursor(places: Mapping[str, str], ended: set[str]) -> str:
    parts = [
        f"{name}={AT_THE_END if name in ended else place}" for name, place in sorted(places.items())
    ]
    return write_cursor(parts)


def _places(cursor: str, sources: Sequence[Source]) -> dict[str, str]:
    names = sorted(it.name for it in sources)
    if not cursor:
        return dict.fromkeys(names, "")
    told = dict(it.partition("=")[::2] for it in read_cursor(cursor, parts=len(names)))
    if sorted(told) != names or any(len(it) > LONGEST_PLACE for it in told.values()):
        raise bad_cursor()
    return told


def sources_named(names: str) -> list[Source]:
    """Return the sources that a list of names, parted by commas, chooses; all for an empty one. Raises `BadInput`."""
    if not names:
        return list(SOURCES.values())
    chosen = names.split(",")
    unknown = [it for it in chosen if it not in SOURCES]
    if unknown:
        raise BadInput(
            f"source is {unknown[0][:80]!r}; it wants of {', '.join(SOURCES)}, parted by commas"
        )
    return [it for name, it in SOURCES.items() if name in chosen]
