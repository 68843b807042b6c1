"""Places in what a source of the timeline tells: a time and a key, as one short text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import Q

from liyagent.core.paging import bad_cursor
from liyagent.core.stored_times import FIRST

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
PLACE = re.compile(r"(-?[0-9]{1,18})-([0-9a-f]{1,32})")
LARGEST = (1 << 63) - 1


def place_of(at: datetime, key: UUID | int) -> str:
    """Return the place of a row: its time to the microsecond, and what tells it from others of that time."""
    return f"{moment_written(at)}-{key.hex if isinstance(key, UUID) else f'{key:x}'}"


def read_place(place: str) -> tuple[datetime, UUID]:
    """Return the time and the id that `place_of` was given. Raises `BadInput`."""
    at, key = _parts(place)
    try:
        return at, UUID(key)
    except ValueError:
        raise bad_cursor() from None


def read_numbered(place: str) -> tuple[datetime, int]:
    """Return the time and the number that `place_of` was given. Raises `BadInput`."""
    at, key = _parts(place)
    return at, number_in(str(int(key, 16)))


def behind(at: datetime, key: UUID | int | str, *, moment: str, name: str = "id") -> Q:
    """Return what stands behind a place where the newest goes first: columns `moment`, then `name`. It can be read off an index.

    What lies before the calendar, as only whoever edits rows can make it, stands behind none: places would lead to it for ever.
    """
    within = Q((f"{moment}__lte", at)) & Q((f"{moment}__gt", FIRST))
    return within & (Q((f"{moment}__lt", at)) | Q((f"{name}__lt", key)))


def number_in(text: str) -> int:
    """Return a number that a column holds. Raises `BadInput`."""
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LARGEST):
        raise bad_cursor()
    return int(text)


def moment_written(at: datetime) -> str:
    """Return a time as places have it: the microseconds since 1970, below nothing before."""
    return str((at - EPOCH) // MICROSECOND)


def moment_of(text: str) -> datetime:
    """Return the time that `moment_written` was given. Raises `BadInput`."""
    sign = -1 if text.startswith("-") else 1
    try:
        return EPOCH + sign * number_in(text.removeprefix("-")) * MICROSECOND
    except OverflowError:
        raise bad_cursor() from None


def _parts(place: str) -> tuple[datetime, str]:
    found = PLACE.fullmatch(place)
    if found is None:
        raise bad_cursor()
    return moment_of(found[1]), found[2]
