"""When a line of five fields fires, in a time zone: pure, no database and no clock of its own (ruling 31).

A schedule whose hours are open (`*`, or a step of it) follows real time: at a change of clocks nothing is missed and
nothing doubled that is not there in truth. Any other names times of the day: one that does not exist that day is the
next instant that does, one that comes twice is its first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cronsim import CronSim, CronSimError

from liyagent.core.errors import BadInput

LONGEST_LINE = 200
FIELDS = "minute, hour, day of the month, month, day of the week"
# Any day to begin with: a line that fires at all does within the fifty years that are looked through from it.
SOME_DAY = datetime(2026, 1, 1)  # noqa: DTZ001 - a wall clock, as every time that the line is matched with
MINUTE = timedelta(minutes=1)
# No zone has put its clocks back by more (Casey, by three hours).
FURTHEST_BACK = timedelta(hours=4)
LATEST = datetime(9000, 1, 1, tzinfo=UTC)
PRINTABLE = re.compile(r"[\x20-\x7e]*")
NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class ScheduleBad(BadInput):
    """The line is no schedule that can be kept."""

    code = "cron.schedule_bad"


class ZoneUnknown(BadInput):
    """There is no such time zone here."""

    code = "cron.zone_unknown"


def check_schedule(text: str) -> str:
    """Return a line as it is kept, one space between its five fields. Raises `ScheduleBad` that says what to write."""
    if not PRINTABLE.fullmatch(text) or len(text) > LONGEST_LINE:
        raise ScheduleBad(f"wants at most {LONGEST_LINE} characters of ASCII on one line")
    fields = text.split()
    if text.strip().startswith("@"):
        meant = NAMED.get(text.strip().lower())
        raise ScheduleBad(
            f"{text.strip()!r} is a name; it wants five fields: "
            + (f"write {meant!r}" if meant else FIELDS)
        )
    if len(fields) == 6:
        raise ScheduleBad(
            f"has six fields; it wants five: {FIELDS}. There are no seconds and no years: nothing fires more often than once a minute"
        )
    if len(fields) != 5:
        raise ScheduleBad(f"has {len(fields)} fields; it wants five: {FIELDS}")
    line = " ".join(fields)
    try:
        next(CronSim(line, SOME_DAY))
    except CronSimError as error:
        raise ScheduleBad(f"{line!r} cannot be read, or names a day that no month has: {error}") from None  # fmt: skip
    except StopIteration:
        raise ScheduleBad(f"{line!r} never fires: no such day comes in fifty years") from None
    return line


def check_zone(name: str) -> str:
    """Return the name of a time zone as it is kept. Raises `ZoneUnknown`."""
    known = available_timezones()
    if name not in known:
        wants = "a name such as UTC or Europe/Berlin, spelt as in the tz database"
        wants = wants if known else "a tz database on this system: install tzdata"
        raise ZoneUnknown(f"{name[:64]!r} is no time zone here; it wants {wants}")
    return name


def next_slot(line: str, zone: str, after: datetime) -> datetime:
    """Return the first slot later than an instant, in UTC. Raises `ScheduleBad` where none comes, `ZoneUnknown`."""
    found = next(slots(line, zone, after), None)
    if found is None:
        raise ScheduleBad(f"{line!r} does not fire any more after {after:%Y-%m-%d}")
    return found


def latest_slot(line: str, zone: str, *, first: datetime, until: datetime) -> datetime:
    """Return the last slot that is not later than `until`; `first` is a slot that is not.

    Found by halving: years of minutes are not walked through.
    """
    found, beyond = first, until + MINUTE
    while beyond - found > MINUTE:
        middle = found + (beyond - found) / 2
        following = next(slots(line, zone, middle), LATEST)
        if following <= until:
            found = following
        else:
            beyond = middle
    following = next(slots(line, zone, found), LATEST)
    return following if following <= until else found


def slots(line: str, zone: str, after: datetime) -> Iterator[datetime]:
    """Yield the slots later than an instant, in UTC, each once and in order. Raises `ScheduleBad`, `ZoneUnknown`."""
    try:
        at = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # OSError: a name of a region alone is a directory there.
        raise ZoneUnknown(f"{zone[:64]!r} is no time zone here") from None
    if len(line.split()) != 5:
        raise ScheduleBad(f"{line!r} has not five fields: {FIELDS}")
    try:
        follows_real_time = line.split()[1].startswith("*")
        found = _real(line, at, after) if follows_real_time else _named(line, at, after)
        for slot in found:
            if slot > LATEST:
                return
            if slot > after:
                yield slot
                after = slot
    except CronSimError as error:
        raise ScheduleBad(f"{line!r} cannot be read: {error}") from None


def _named(line: str, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Each time of the day once: the first of two, or the next that there is."""
    for wall in CronSim(line, _wall(after, zone)):
        there = wall
        while not (instants := _instants(there, zone)):
            there += MINUTE
        yield instants[0]


def _real(line: str, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Every instant at which the clock on the wall shows what the line says, as often as it does."""
    waiting: list[datetime] = []
    for wall in CronSim(line, _wall(after, zone) - FURTHEST_BACK):
        instants = _instants(wall, zone)
        for it in instants:
            heappush(waiting, it)
        # Of every time to come the first instant is later than this one's first.
        while instants and waiting and waiting[0] <= instants[0]:
            yield heappop(waiting)


def _wall(instant: datetime, zone: ZoneInfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None)


def _instants(wall: datetime, zone: ZoneInfo) -> list[datetime]:
    """Return when the clock on the wall shows this, in order: never, once or twice."""
    both = {wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    return sorted(it for it in both if _wall(it, zone) == wall)
