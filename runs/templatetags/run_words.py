"""Filters of the pages of runs. All they return is escaped where it is shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django import template
from django.utils.safestring import SafeString

from liyagent.core import moments
from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from liyagent.core.tables import cell
from runs.decisions import decision_told
from runs.run_page import place_of
from runs.states import status_pill
from runs.wording import CAUSES, EVENTS, FINDINGS, SETTLEMENTS, in_words

register = template.Library()
UNITS = ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))
FATE_ICONS = {
    "done": "check_circle",
    "failed": "cancel",
    "refused": "block",
    "held": "front_hand",
    "unknown": "help",
}
FATES = {"done": GOOD, "failed": WARN, "refused": WARN, "held": WARN, "unknown": BAD}


@register.filter
def plainly(value: Any) -> str:
    """Return a value on one line, what is invisible in it written out."""
    return "" if value in (None, "") else cell(value)


@register.filter
def when(value: datetime | None) -> SafeString:
    """Return a time and its age."""
    return moments.when(value)


@register.filter
def fate(value: str) -> SafeString:
    """Return a fate in words; a call without one is not settled yet."""
    return pill(value, FATES.get(value, QUIET)) if value else pill("not settled yet", WARN)


@register.filter
def settled(value: str) -> str:
    """Say how a call came to its fate."""
    return cell(in_words(SETTLEMENTS, value or ""))


@register.filter
def in_plain_words(value: str) -> str:
    """Say a stored word, such as the name of a gate, as one reads it."""
    return cell(in_words({}, value or ""))


@register.filter
def finding(value: str) -> str:
    """Say what a late look found."""
    return cell(in_words(FINDINGS, value))


@register.filter
def cause(value: Any) -> str:
    """Say how a death was seen."""
    return cell(in_words(CAUSES, str(value or "")))


@register.filter
def event(kind: str) -> str:
    """Say what kind of event it is."""
    return cell(EVENTS.get(kind, kind))


@register.filter
def place(call: Any) -> str:
    """Return where on its run's page a call stands."""
    return place_of(call)


@register.filter
def clock(value: datetime) -> str:
    """Return the time of day in UTC to the millisecond: the lines of one run stand close together."""
    told = value.astimezone(UTC)
    return f"{told:%H:%M:%S}.{told.microsecond // 1000:03}"


@register.filter
def exactly(value: datetime) -> str:
    """Return a time as the log has it, to the microsecond."""
    return value.astimezone(UTC).isoformat()


@register.filter
def lasting(seconds: float) -> str:
    """Return a duration as one reads it: `340 ms`, `12.3 s`, `4 min 12 s`, `3 h 5 min`, `2 d 4 h`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 90:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    for unit, name, lower, lower_name in UNITS:
        if whole >= unit:
            return f"{whole // unit} {name} {whole % unit // lower} {lower_name}"
    return f"{whole} s"


@register.filter
def call_icon(call: Any) -> str:
    """Return the theme's icon of what became of a call; the words beside it say the same."""
    return "help" if call.is_unknown else FATE_ICONS.get(call.fate, "pending")


@register.filter
def run_state(status: str) -> SafeString:
    """Return a run's status as it is shown."""
    return status_pill(status)


@register.filter
def times(number: int) -> range:
    """Return something to go through so many times, twenty at the most."""
    return range(min(number, 20))


@register.filter
def decided(request: Any) -> str:
    """Say where a request stands: whom it waits for, or who decided what and why."""
    return decision_told(request)
