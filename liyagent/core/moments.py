"""Times as pages show them: in UTC to the second, and how long ago by the database's clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from django.db import connection
from django.utils.html import format_html
from django.utils.safestring import SafeString

ASKED_EVERY_SECONDS = 10.0
STEPS = ((90, 1, "s"), (90 * 60, 60, "min"), (48 * 3600, 3600, "h"))
IN_WORDS = {"s": "second", "min": "minute", "h": "hour", "d": "day"}
DAY = 86_400

_told: dict[str, tuple[float, datetime]] = {}


def shown_now() -> datetime:
    """Return the database's time, to show ages by; it is asked once in ten seconds. No deadline is made of it."""
    name = str(connection.settings_dict["NAME"])
    at, told = _told.get(name, (0.0, datetime.min.replace(tzinfo=UTC)))
    elapsed = time.monotonic() - at
    if name not in _told or elapsed > ASKED_EVERY_SECONDS:
        with connection.cursor() as cursor:
            cursor.execute("SELECT liyagent_now()")
            ((told,),) = cursor.fetchall()
        _told.clear()
        _told[name] = (time.monotonic(), told)
        elapsed = 0.0
    return told + timedelta(seconds=elapsed)


def span(seconds: float) -> str:
    """Return a duration in one word and unit, such as `45 s`, `12 min`, `3 h` or `5 d`."""
    for below, unit, name in STEPS:
        if seconds < below:
            return f"{int(seconds / unit)} {name}"
    return f"{int(seconds / DAY)} d"


def span_in_words(seconds: float) -> str:
    """Return a duration as a sentence has it, such as `45 seconds`, `1 hour` or `6 days`."""
    number, _, unit = span(seconds).partition(" ")
    return f"{number} {IN_WORDS[unit]}{'' if number == '1' else 's'}"


def age(moment: datetime, now: datetime) -> str:
    """Return how long ago a moment is, or how far ahead."""
    seconds = (now - moment).total_seconds()
    return f"{span(seconds)} ago" if seconds > -1 else f"in {span(-seconds)}"


def when(moment: datetime | None) -> SafeString:
    """Return a time as a page shows it: the time, and its age under it; `-` for none."""
    if moment is None:
        return format_html("{}", "-")
    return format_html(
        '<span class="liy-when">{}</span> <span class="liy-age">{}</span>',
        f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z",
        age(moment, shown_now()),
    )
